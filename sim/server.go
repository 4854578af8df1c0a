package sim

// server is one of the servers that the processes of a world dial. A world and its stepper know each server by these
// methods alone: what only one of them can do, such as to fail over or to lose power, is in that server's files.
type server interface {
	// start runs the server, before the world's time begins.
	start() error
	// dial connects a process that starts.
	dial(p *Process) (client, error)
	// adopt takes note of what the harness has put there itself, which is no step's doing.
	adopt()
	// before readies the server for an operation that is about to have its effect.
	before(op *Op)
	// changed appends what the step of op has changed, read from the server once the step has settled.
	changed(op *Op, changes []Change) []Change
	// check compares what the steps were seen to change with what the server holds.
	check() error
	// stop ends the server for good, with what is left of its connections.
	stop()
}

// client is a process's gated connection to one server.
type client interface {
	close()
}

// call is what an operation asks of a server, or of another process, in the terms of that.
type call interface {
	// compare orders two calls whose operations are alike in everything else.
	compare(other call) int
}

// holdable is a call that can be held back.
type holdable interface {
	// hold runs apply, the effect of op, but keeps what it sends from the server. The function that it returns hands
	// that over, and says what came of it; it is nil if nothing was sent.
	hold(op *Op, apply func() error) (arrive func() (outcome string))
}

// find returns the server, or the client, of type T.
func find[T, S any](list []S) (found T) {
	for _, s := range list {
		if t, ok := any(s).(T); ok {
			return t
		}
	}
	return found
}
