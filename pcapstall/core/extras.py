"""How what few need is installed: the one form of words for it, wherever something asks for more.

What an extra brings is told in pyproject.toml.
"""


def install_words(extra: str) -> str:
    """``pip install '.[png]' in a clone (from an index 'pcapstall[png]')``: first what works before it is on one."""
    return f"pip install '.[{extra}]' in a clone (from an index 'pcapstall[{extra}]')"
