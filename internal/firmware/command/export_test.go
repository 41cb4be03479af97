package command

// CompletionStore returns the steps of the store that tells the host of a completion.
func CompletionStore() []Step { return completionStore[:] }
