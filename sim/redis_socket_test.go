package sim

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The number of a connection that is closed may be that of another: what a crashed node still writes must not reach that.
func TestAClosedSocketTakesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	s, err := dialSocket(path, time.Now)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = s.Write([]byte("PING\r\n"))
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = s.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)
	require.NoError(t, s.Close())
}
