"""``psc playground``: a web page on which a grammar is tried, with the tokens, the parser's stack, and what is allowed and why.

`looking` finds what the page shows, `worker` does it in a process that can be ended, `application` serves both. Needs the extra
`server`.
"""
