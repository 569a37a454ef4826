"""Chess engines: UCI, analysis and matches. In the order in which data flows:

`lines`     lines of text between programs
`weights`   evaluators by name or network file
`uci`       the UCI engine for chess GUIs
`analysis`  annotation of games, and the JSON analysis server
`match`     matches between players, and games against a person
"""
