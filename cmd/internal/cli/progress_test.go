package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Without a terminal, what begins is said at once, and how far it is every ten seconds.
func TestProgressWithoutATerminal(t *testing.T) {
	var said bytes.Buffer
	at := time.Unix(0, 0)
	p := NewProgress(&said, false)
	p.now, p.last = func() time.Time { return at }, at
	for n := range 26 {
		if n == 3 {
			p.Begin("another part")
		}
		p.Show("%d of 26", n)
		at = at.Add(time.Second)
	}
	p.Done()
	assert.Equal(t, "another part\n13 of 26\n23 of 26\n", said.String())
}

func TestProgressOnATerminal(t *testing.T) {
	var said bytes.Buffer
	p := NewProgress(&said, false)
	columns := 80
	p.columns = func() int { return columns }
	p.Begin("a part")
	p.Show("%d of %d", 1, 2)
	columns = 4
	p.Show("%d µs of %d", 1, 2)
	p.Done()
	p.Done()
	assert.Equal(t, "\r\033[Ka part\r\033[K1 of 2\r\033[K1 µs\r\033[K", said.String())
	NewProgress(&said, true).Show("nothing")
}
