"""The terminal of the chat: the only owner of the keys and the screen. Nothing is loaded before it is needed."""
