"""`python -m kuniumi COMMAND FILE.py[:APP] …`: the `kuniumi` program, of this very Python."""

from kuniumi.serve.cli import main

if __name__ == "__main__":
    main()
