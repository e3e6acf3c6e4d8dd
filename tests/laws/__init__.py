"""Laws: whatever the input, all ways to an answer give the same one, and no output is ever left in pieces.

odd.py       collections that are legal but odd, and collections with something wrong in them
ways.py      the ways from a collection to scores, and what it means that two agree
hostile.py   files and arguments that nobody should send, through every command
kills.py     commands that are killed, or run out of disk, while they write
fuzz.py      all of these for as long as asked: `make fuzz`
recorded.py  exit codes and numbers of every command, compared with recorded.json
mutants.py   the source broken in scripted places, to see the tests turn red: `make mutants`
"""
