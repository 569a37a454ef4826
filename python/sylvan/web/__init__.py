"""The browser app's server.

In the order in which data flows:

`parts`       parts of messages
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
`looking`     the position after a path, and what is known of its node
`found`       what a running search, or an analysis from a file, has found so far
`desk`        what the server offers every page
`worker`      a thread that does what a page asks, one request after another
`review`      which moves of a person were mistakes
`play`        a game of a person against players of ours
`learn`       runs: their list, their curves, their games
`analysis`    a page's search, in a thread of its own
`app`         the routes: the page, its files, the websocket
`server`      start it

It needs the extra `web` (Starlette, uvicorn, websockets).
"""
