"""The browser app's server.

In the order in which data flows:

`parts`       parts of messages
`play_messages`   about games that people play
`learn_messages`  about runs
`requests`    what a page asks
`messages`    what the server says
`protocol`    the messages between a page and the server
`typescript`  the same types for the page
`security`    who may speak to the server: hosts, origins, the token
`boards`      a state as a board that a page can draw
`line`        a game and the place in it that a page shows
`settings`    the settings of a search, for the page's panel
`rows`        the rows of the table and of the tree, and which of them changed
`slow`        one simulation, step by step
`found`       what a running search, or an analysis from a file, has found so far
`looking`     the position after a path, and what is known of its node
`desk`        what the server offers every page
`worker`      a thread that does what a page asks, one request after another
`runs`        the runs that pages may watch and play against
`opponents`   players of ours, by strength or with a network
`reviewer`    reviews of a table's moves, in a thread of their own
`review`      which moves of a person were mistakes
`match`       a game at a table: what each seat may see and do
`clock`       the clocks of a table
`table`       people of one or more pages, and players of ours, play a game
`hall`        all tables, by the code that lets others join
`play`        a page and its table
`copilot`     advice at a real table
`opinion`     what a run's networks think of a position, step by step
`replays`     games of a run, position by position; what a model foresees in them
`training`    start, pause and resume runs
`learn`       runs: their list, their curves, their games
`analysis`    a page's search, in a thread of its own
`app`         the routes: the page, its files, the websocket
`server`      start it
`widgets`     the same parts in a notebook

The server needs the extra `web` (Starlette, uvicorn, websockets), the widgets the extra `notebook`
(anywidget).
"""
