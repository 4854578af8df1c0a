package sim

// server is a server that the processes of a world connect to. A world and its stepper use these methods
// alone. What only one server can do, such as failing over or losing power, is in that server's files.
type server interface {
	// start runs the server, before the world's time begins.
	start() error
	// dial connects a process that starts.
	dial(p *Process) (client, error)
	// adopt takes note of what the harness itself has written, which belongs to no step.
	adopt()
	// before prepares the server for an operation that is about to take effect.
	before(op *Op)
	// changed appends what the step of op has changed, read from the server once the step has settled.
	changed(op *Op, changes []Change) []Change
	// check compares what the steps were seen to change with what the server holds.
	check() error
	// stop ends the server for good, with its remaining connections.
	stop()
}

// client is a process's gated connection to one server.
type client interface {
	close()
}

// call is the request of an operation to a server or to another process, in that one's terms.
type call interface {
	// compare orders two calls whose operations are alike in everything else.
	compare(other call) int
}

// holdable is a call that can be held back.
type holdable interface {
	// hold runs apply, the effect of op, but keeps what it sends from the server. arrive hands that over, and
	// returns its outcome; it is nil if nothing was sent.
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
