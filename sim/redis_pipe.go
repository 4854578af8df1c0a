package sim

import (
	"bytes"
	"net"
)

// pipe is a connection to miniredis. miniredis writes the answer to a command before it takes another, and a pipe holds nothing: who
// wrote on, without reading, would wait for ever. What miniredis may not take at once is written by another goroutine.
type pipe struct {
	net.Conn
	asked   bool          // something was written since the last read
	written chan struct{} // is closed when the other goroutine is done; nil if there was none
}

// takes is how much miniredis takes at once: the buffer that it reads with.
const takes = 4 << 10

func (p *pipe) Write(b []byte) (int, error) {
	asked := p.asked
	p.asked = true
	if !asked && len(b) <= takes {
		return p.Conn.Write(b)
	}
	b = bytes.Clone(b)
	before, written := p.written, make(chan struct{})
	p.written = written
	go func() {
		defer close(written)
		if before != nil {
			<-before
		}
		_, _ = p.Conn.Write(b) // what is amiss, the next read says
	}()
	return len(b), nil
}

func (p *pipe) Read(b []byte) (int, error) {
	p.asked = false
	return p.Conn.Read(b)
}
