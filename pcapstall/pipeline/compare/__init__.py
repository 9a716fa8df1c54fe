"""Two readings side by side: captures of both ends (`pcapstall compare`), or of before and after (`pcapstall diff`).

What the one says of the other is judged in diagnose and report; here they are read and put together.
"""
