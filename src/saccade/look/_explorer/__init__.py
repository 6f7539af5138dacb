"""The explorer: sheets of numbers, the page that shows them, and its three hosts."""
