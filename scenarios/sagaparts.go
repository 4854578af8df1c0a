package scenarios

// What can be taken away of sagas, and what plans draw of it.
var (
	sagaToggles = []Toggle{}
	sagaDials   = []dial{}
)
