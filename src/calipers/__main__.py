"""`python -m calipers`, the same as `calipers`."""

from calipers.cli import main

if __name__ == "__main__":
    main()
