"""How what few need is installed: the one form of words for it, wherever something asks for more.

What an extra brings is told in pyproject.toml.
"""


def install_words(extra: str) -> str:
    """``pip install 'pcapstall[png]' (in a clone '.[png]')``: before pcapstall is on an index only the latter works."""
    return f"pip install 'pcapstall[{extra}]' (in a clone '.[{extra}]')"
