from calipers.results.result import Result as Result
from calipers.results.scores import Scores as Scores
from calipers.results.tables import FORMATS as FORMATS
from calipers.results.tables import Cell as Cell
from calipers.results.tables import Markdown as Markdown
from calipers.results.tables import Table as Table
from calipers.results.tables import markdown_text as markdown_text
