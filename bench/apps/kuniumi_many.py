"""As many operations as BENCH_OPERATIONS says: `kuniumi_many.py serve --port N`."""

import os

from kuniumi import App

app = App(name="Many", version="1.0.0")


def define(number: int) -> None:
    """Register one more function, written as a decorated one would be."""

    async def operation(x: int, y: int) -> int:
        """Adds two integers together.

        Args:
            x: First integer to add
            y: Second integer to add

        Returns:
            Sum of x and y
        """
        return x + y

    operation.__name__ = operation.__qualname__ = f"Op{number}"
    app.function(operation)


for each in range(int(os.environ.get("BENCH_OPERATIONS", "10"))):
    define(each)

if __name__ == "__main__":
    app.run()
