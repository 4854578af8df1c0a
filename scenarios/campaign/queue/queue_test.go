package queue

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
)

// coordinated runs a campaign at the server in this process.
func coordinated(t *testing.T, dir string, c *Coordinator) (*campaign.Result, error) {
	t.Helper()
	c.AckWait = soon
	if c.Say == nil {
		c.Say = say // which the output of a test that hangs has, too
	}
	return campaign.Run(t.Context(), dir, campaign.Options{Workers: 1, Command: worker(), Elsewhere: c})
}

// nothingLeft checks that a campaign that is over has left nothing on the server.
func nothingLeft(t *testing.T, s *natsServer) {
	t.Helper()
	names := dialled(t, s).js.StreamNames(t.Context())
	for name := range names.Name() {
		t.Errorf("%s is left", name)
	}
	require.NoError(t, names.Err())
}

func TestAnyNumberOfMachinesGivesTheResultOfOne(t *testing.T) {
	race.SkipLong(t)
	want := alone(t, finding(20))
	require.Contains(t, want, `"file": "findings/`)
	for _, machines := range numbers() {
		s := startServer(t, nil)
		for range machines {
			process(t, asMachine, s.url())
		}
		dir := begun(t, finding(20))
		res, err := coordinated(t, dir, &Coordinator{Server: Server{URL: s.url()}, Chunk: 3})
		require.NoError(t, err)
		assert.True(t, res.Complete)
		assert.Equal(t, want, resultOf(t, dir), "of %d machines", machines)
		nothingLeft(t, s)
	}
}

// What is delivered again and again, and never done, is done by the coordinator.
func TestAChunkThatIsNeverDone(t *testing.T) {
	race.SkipLong(t)
	want := alone(t, clean(20))
	s := startServer(t, nil)
	dir := begun(t, clean(20))
	conn := dialled(t, s)
	go func() {
		for t.Context().Err() == nil {
			list := conn.js.ListStreams(t.Context(), jetstream.WithStreamListSubject(anyChunk))
			for info := range list.Info() {
				if work, err := conn.js.Consumer(t.Context(), info.Config.Name, consumerName); err == nil {
					got, err := work.Fetch(1, jetstream.FetchMaxWait(100*time.Millisecond))
					if err != nil {
						continue
					}
					for msg := range got.Messages() {
						_ = msg.Nak()
					}
				}
			}
		}
	}()
	var said saying
	res, err := coordinated(t, dir, &Coordinator{Server: Server{URL: s.url()}, Chunk: 20, Say: said.say})
	require.NoError(t, err)
	assert.True(t, res.Complete)
	assert.Equal(t, want, resultOf(t, dir))
	assert.Contains(t, said.all(), "the chunk of runs 0 to 19 was begun 8 times and never done; it is done here")
}

// What a server has lost is asked for again, and what was done is not.
func TestAServerThatHasLostEverything(t *testing.T) {
	race.SkipLong(t)
	want := alone(t, clean(20))
	s := startServer(t, nil)
	process(t, asMachine, s.url())
	dir := begun(t, clean(20))
	conn := dialled(t, s)
	times := 0
	res, err := campaign.Run(t.Context(), dir, campaign.Options{
		Workers: 1, Command: worker(), Elsewhere: &Coordinator{Server: Server{URL: s.url()}, Chunk: 2, AckWait: soon, Say: say},
		Record: func(r *campaign.Record) {
			if times++; times%6 != 0 {
				return
			}
			list := conn.js.StreamNames(t.Context(), jetstream.WithStreamListSubject(anyChunk))
			for name := range list.Name() {
				digest, _ := digestOf(name)
				assert.NoError(t, conn.remove(t.Context(), digest))
			}
		},
	})
	require.NoError(t, err)
	assert.True(t, res.Complete)
	assert.Equal(t, want, resultOf(t, dir))
	nothingLeft(t, s)
}

// What a coordinator was making as it was stopped is not made after it has removed everything.
func TestWhatIsRemovedStaysRemoved(t *testing.T) {
	s := startServer(t, nil)
	conn := dialled(t, s)
	for i := range 300 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%60)*100*time.Microsecond)
		_, _ = conn.make(ctx, "campaign", []byte("{}"), facts{}, soon)
		cancel()
		require.NoError(t, conn.remove(t.Context(), "campaign"))
		nothingLeft(t, s)
	}
}

// Many small chunks pass: whoever does them does nothing here.
func TestTenThousandChunks(t *testing.T) {
	const runs = 10_000
	s := startServer(t, nil)
	dir := begun(t, finding(runs))
	ctx, cancel := context.WithCancel(t.Context())
	var idlers sync.WaitGroup
	for range 2 {
		idlers.Go(func() { idle(ctx, dialled(t, s)) })
	}
	res, err := coordinated(t, dir, &Coordinator{Server: Server{URL: s.url()}, Chunk: 1})
	cancel()
	idlers.Wait()
	require.NoError(t, err)
	assert.True(t, res.Complete)
	assert.Equal(t, runs, res.Verdicts["held"])
	nothingLeft(t, s)
}

// idle answers for each run that it held, without making it.
func idle(ctx context.Context, conn *Conn) {
	for ctx.Err() == nil {
		list := conn.js.StreamNames(ctx, jetstream.WithStreamListSubject(anyChunk))
		for name := range list.Name() {
			digest, _ := digestOf(name)
			chunks, err := conn.js.Consumer(ctx, name, consumerName)
			for err == nil && ctx.Err() == nil {
				var got jetstream.MessageBatch
				if got, err = chunks.FetchNoWait(100); err != nil {
					break
				}
				var msgs []jetstream.Msg
				for msg := range got.Messages() {
					msgs = append(msgs, msg)
				}
				err = conn.each(ctx, len(msgs), func(i int) (string, any) {
					var m chunkMessage
					_ = json.Unmarshal(msgs[i].Data(), &m)
					return runSubject(digest, m.First), runMessage{digest, "idle/1", &campaign.Record{N: m.First, Verdict: "held", Digest: "d"}}
				})
				for _, msg := range msgs {
					_ = msg.Ack()
				}
			}
		}
	}
}

// forged puts records onto the server before the campaign looks at it.
type forged struct {
	*Coordinator
	t    *testing.T
	send func(digest string) []runMessage
}

func (f forged) Begin(ctx context.Context, job campaign.Job, done func(int) bool) (<-chan campaign.Arrival, error) {
	out, err := f.Coordinator.Begin(ctx, job, done)
	for _, m := range f.send(job.Digest()) {
		text, err := json.Marshal(m)
		require.NoError(f.t, err)
		_, err = f.conn.js.Publish(ctx, runSubject(job.Digest(), m.Record.N), text)
		require.NoError(f.t, err)
	}
	return out, err
}

func TestARunThatIsDoneTwiceMustBeTheSame(t *testing.T) {
	race.SkipLong(t)
	s := startServer(t, nil)
	process(t, asMachine, s.url())
	dir := begun(t, finding(8))
	record := func(n int, digest string) *campaign.Record {
		return &campaign.Record{N: n, Verdict: "held", Digest: digest}
	}
	var said saying
	_, err := campaign.Run(t.Context(), dir, campaign.Options{Workers: 1, Command: worker(), Elsewhere: forged{
		&Coordinator{Server: Server{URL: s.url()}, Chunk: 4, AckWait: soon, Say: said.say}, t, func(digest string) []runMessage {
			return []runMessage{{"another", "one/1", record(0, "a")}, {digest, "two/2", record(1, "b")}, {digest, "three/3", record(1, "b")}, {digest, "four/4", record(7, "c")}}
		},
	}})
	differ := new(campaign.NotDeterministicError)
	require.ErrorAs(t, err, &differ)
	assert.Equal(t, 1, differ.N)
	assert.Regexp(t, `^run 1 is not deterministic: .*campaign says that it was held with digest b, and .*/\d+ that it was held with digest [0-9a-f]{16}$`, err.Error())
	assert.Contains(t, said.all(), `one/1 has sent a record with the digest of another campaign, "another"; it is left out`)
}

func TestAnotherBuildIsRefused(t *testing.T) {
	race.SkipLong(t)
	s := startServer(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	dir := begun(t, clean(8))
	elsewhere := &Coordinator{Server: Server{URL: s.url()}, Chunk: 4}
	go func() {
		_, err := campaign.Run(ctx, dir, campaign.Options{Workers: 1, Command: worker(), Elsewhere: elsewhere})
		ended <- err
	}()
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, []byte("#!/bin/sh\n"), 0o755))
	err := Work(t.Context(), dialled(t, s), WorkOptions{Command: []string{other}})
	require.Error(t, err)
	assert.Regexp(t, `^campaign [0-9a-f]{16} at nats://127.0.0.1:\d+ is of another build \(devel, program [0-9a-f]+\) than this one \(devel, program [0-9a-f]+\); work with the build that began it$`, err.Error())
	cancel()
	require.NoError(t, <-ended)

	process(t, asMachine, s.url()) // what was left is gone on with
	_, err = coordinated(t, dir, &Coordinator{Server: Server{URL: s.url()}, Chunk: 2})
	require.NoError(t, err)
	assert.Equal(t, alone(t, clean(8)), resultOf(t, dir))
}

func TestServersThatCannotBeUsed(t *testing.T) {
	plain := startServer(t, func(o *server.Options) { o.JetStream = false })
	locked := startServer(t, func(o *server.Options) { o.Username, o.Password = "a", "b" })
	shut := startServer(t, nil)
	shut.stop()
	at := func(s *natsServer, scheme, user string) string {
		return fmt.Sprintf("%s://%s127.0.0.1:%d", scheme, user, s.opts.Port)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.WriteFile(broken, []byte("x"), 0o644))
	for _, c := range []struct {
		server Server
		says   string
	}{
		{Server{URL: plain.url()}, plain.url() + " has no JetStream for this user; start it with nats-server -js, or enable it for the account"},
		{Server{URL: locked.url()}, locked.url() + " refuses these credentials; give the user and the password in the URL, nats://USER:PASSWORD@HOST:4222, or a file with --queue-creds"},
		{Server{URL: at(locked, "nats", "a:c@")}, locked.url() + " refuses these credentials; "},
		{Server{URL: at(plain, "tls", "")}, at(plain, "tls", "") + " has no TLS, and tls:// asks for it; write nats://"},
		{Server{URL: shut.url()}, shut.url() + " cannot be reached: nobody listens there; start nats-server -js there, or give another with --queue"},
		{Server{URL: "localhost"}, "the queue's address is no URL of a NATS server; write nats://HOST:4222, or tls://HOST:4222"},
		{Server{URL: "http://localhost"}, "the queue's address is no URL of a NATS server; "},
		{Server{URL: plain.url(), Creds: broken}, broken + " holds no JWT and seed of a user; "},
		{Server{URL: plain.url(), Creds: "nowhere"}, "nowhere cannot be read: no such file or directory"},
		{Server{URL: plain.url(), CA: broken}, broken + " holds no certificate in PEM; "},
	} {
		_, err := c.server.Dial(t.Context(), "test")
		require.Error(t, err, c.says)
		assert.True(t, strings.HasPrefix(err.Error(), c.says), "%s\n%s", err, c.says)
		assert.NotContains(t, err.Error(), "\n")
	}
	conn, err := (Server{URL: at(locked, "nats", "a:b@")}).Dial(t.Context(), "test")
	require.NoError(t, err)
	conn.Close()
}

func TestServersWithTLS(t *testing.T) {
	authority, certificate := certified(t)
	s := startServer(t, func(o *server.Options) {
		o.TLS, o.TLSConfig = true, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	})
	at := strings.Replace(s.url(), "nats://", "tls://", 1)
	_, err := (Server{URL: at}).Dial(t.Context(), "test")
	assert.EqualError(t, err, at+" has a certificate of an authority that is not trusted here; name its authority's certificate with --queue-ca")
	conn, err := (Server{URL: at, CA: authority}).Dial(t.Context(), "test")
	require.NoError(t, err)
	conn.Close()
	other := strings.Replace(at, "127.0.0.1", "localhost", 1)
	_, err = (Server{URL: other, CA: authority}).Dial(t.Context(), "test")
	require.Error(t, err)
	assert.Contains(t, err.Error(), other+" has a certificate that does not fit: ")
	assert.NotContains(t, err.Error(), "\n")
}

// certified is a certificate for 127.0.0.1, and the file of the authority that has signed it: itself.
func certified(t *testing.T) (authority string, c tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	authority = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	return authority, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Records in a stream that took the place of a lost one are read from the first, however many there are by then.
func TestAnotherStreamIsReadFromItsFirst(t *testing.T) {
	s := startServer(t, nil)
	job := campaign.Job{Version: campaign.SpecVersion, Build: buildname.Of(), Program: "program", Spec: finding(2)}
	text, err := json.Marshal(job)
	require.NoError(t, err)
	c := &Coordinator{job: job, text: text, digest: job.Digest(), seen: make([]bool, 2), conn: dialled(t, s), out: make(chan campaign.Arrival, 2)}
	c.setDefaults()
	require.NoError(t, c.setUp(t.Context()))
	require.NoError(t, c.conn.each(t.Context(), 2, func(i int) (string, any) {
		return runSubject(c.digest, i), runMessage{c.digest, "machine", &campaign.Record{N: i}}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.read(ctx, &reading{of: time.Now().Add(-time.Hour), next: 3}) }()
	assert.Equal(t, 0, (<-c.out).Record.N)
	assert.Equal(t, 1, (<-c.out).Record.N)
	cancel()
	<-ended
}

// Where a server has lost the records of a stream, and not the stream, their runs are asked for.
func TestRecordsThatAreGoneAreAskedFor(t *testing.T) {
	s := startServer(t, nil)
	job := campaign.Job{Version: campaign.SpecVersion, Build: buildname.Of(), Program: "program", Spec: finding(4)}
	conn := dialled(t, s)
	begin := func() *Coordinator {
		c := &Coordinator{Server: Server{URL: s.url()}, Chunk: 2}
		_, err := c.Begin(t.Context(), job, func(int) bool { return false })
		require.NoError(t, err)
		return c
	}
	c := begin()
	for range 2 {
		require.NoError(t, fetched(t, conn, c.digest).Ack())
	}
	require.NoError(t, conn.each(t.Context(), 4, func(i int) (string, any) {
		return runSubject(c.digest, i), runMessage{c.digest, "machine", &campaign.Record{N: i}}
	}))
	c.End(false)
	runs, err := conn.js.Stream(t.Context(), runsStream(c.digest))
	require.NoError(t, err)
	require.NoError(t, runs.Purge(t.Context()))
	c = begin()
	fetched(t, conn, c.digest)
	c.End(true)
}
