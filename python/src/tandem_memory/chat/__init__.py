"""Chat with memory: the tree of models, the engine that runs one, and the conversation with it."""
