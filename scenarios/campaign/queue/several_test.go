package queue

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
)

// working is a machine in this process.
func working(t *testing.T, s *natsServer, opt WorkOptions) *saying {
	t.Helper()
	said := &saying{}
	opt.Workers, opt.Command, opt.Say = 1, worker(), said.say
	conn := dialled(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Work(ctx, conn, opt) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	return said
}

// chunksLeft is how many chunks of a campaign are not done; -1 if it is not there.
func chunksLeft(t *testing.T, conn *Conn, digest string) int {
	s, err := conn.js.Stream(t.Context(), chunksStream(digest))
	if isGone(err) {
		return -1
	}
	require.NoError(t, err)
	return int(s.CachedInfo().State.Msgs)
}

// isStored says whether a run of a campaign is.
func isStored(t *testing.T, conn *Conn, digest string) bool {
	s, err := conn.js.Stream(t.Context(), runsStream(digest))
	require.NoError(t, err)
	return s.CachedInfo().State.Msgs > 0
}

// watching is a coordinator whose campaign's digest is told once it has begun, and which ends when it may.
type watching struct {
	Coordinator
	begun chan string
	mayGo chan struct{}
}

func watch(s *natsServer, chunk int) *watching {
	return &watching{Coordinator{Server: Server{URL: s.url()}, Chunk: chunk, AckWait: soon}, make(chan string, 1), make(chan struct{})}
}

func (w *watching) Begin(ctx context.Context, job campaign.Job, done func(int) bool) (<-chan campaign.Arrival, error) {
	out, err := w.Coordinator.Begin(ctx, job, done)
	w.begun <- job.Digest()
	return out, err
}

func (w *watching) End(over bool) {
	<-w.mayGo
	w.Coordinator.End(over)
}

// coordinating runs a campaign at the server, until the test ends at the latest, and returns its digest once all is asked for.
func coordinating(t *testing.T, dir string, conn *Conn, c *watching) (digest string, stop func(), ended chan *campaign.Result) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	ended = make(chan *campaign.Result, 1)
	go func() {
		res, err := campaign.Run(ctx, dir, campaign.Options{Workers: 1, Command: worker(), Elsewhere: c, RunTimeout: time.Hour})
		assert.NoError(t, err)
		ended <- res
	}()
	digest = <-c.begun
	require.Eventually(t, func() bool { return chunksLeft(t, conn, digest) > 0 }, time.Minute, 5*time.Millisecond)
	return digest, cancel, ended
}

// A campaign that was given up keeps no machine from a later one.
func TestACampaignThatWasGivenUp(t *testing.T) {
	race.SkipLong(t)
	s := startServer(t, nil)
	conn := dialled(t, s)
	c := watch(s, 2)
	close(c.mayGo)
	older, giveUp, ended := coordinating(t, begun(t, clean(6)), conn, c)
	giveUp()
	assert.False(t, (<-ended).Complete)

	said := working(t, s, WorkOptions{})
	require.Eventually(t, func() bool { return chunksLeft(t, conn, older) == 0 }, time.Minute, 5*time.Millisecond)
	dir := begun(t, clean(8))
	later := &Coordinator{Server: Server{URL: s.url()}, Chunk: 2}
	_, err := coordinated(t, dir, later)
	require.NoError(t, err)
	assert.Equal(t, alone(t, clean(8)), resultOf(t, dir))
	assert.Contains(t, said.all(), "campaign "+older+": left for campaign "+later.digest+"; 6 runs were done here")
}

// What a campaign has kept does not say how the next one is cut.
func TestEachCampaignHasChunksOfItsOwnSize(t *testing.T) {
	s := startServer(t, nil)
	program, err := campaign.Program(worker())
	require.NoError(t, err)
	begin := func(c *Coordinator, runs int) int {
		job := campaign.Job{Version: campaign.SpecVersion, Build: buildname.Of(), Program: program, Spec: clean(runs)}
		_, err := c.Begin(t.Context(), job, func(int) bool { return false })
		require.NoError(t, err)
		c.End(false)
		return c.chunk
	}
	assert.Equal(t, 3, begin(&Coordinator{Server: Server{URL: s.url()}, Chunk: 3}, 6))
	c := &Coordinator{Server: Server{URL: s.url()}, Chunk: 2}
	assert.Equal(t, 3, begin(c, 6))
	assert.Equal(t, 2, begin(c, 8))
}

// The runs of one campaign are done while the findings of an older one are examined.
func TestTwoCampaignsAtOnce(t *testing.T) {
	race.SkipLong(t)
	s := startServer(t, nil)
	conn := dialled(t, s)
	first, second := begun(t, finding(6)), begun(t, clean(8))
	older := watch(s, 2)
	_, _, ended := coordinating(t, first, conn, older)
	working(t, s, WorkOptions{})
	_, err := coordinated(t, second, &Coordinator{Server: Server{URL: s.url()}, Chunk: 2})
	require.NoError(t, err)
	close(older.mayGo) // which is not over until now
	assert.True(t, (<-ended).Complete)
	assert.Equal(t, alone(t, finding(6)), resultOf(t, first))
	assert.Equal(t, alone(t, clean(8)), resultOf(t, second))
	nothingLeft(t, s)
}

// What somebody gives back of an older campaign is done although a later one has more to do than is ever done.
func TestAChunkOfAnOlderCampaignComesFirst(t *testing.T) {
	race.SkipLong(t)
	s := startServer(t, nil)
	conn := dialled(t, s)
	first := watch(s, 6)
	first.AckWait = time.Minute // until it is given back
	close(first.mayGo)
	older, _, ended := coordinating(t, begun(t, clean(6)), conn, first)
	taken := fetched(t, conn, older)
	second := watch(s, 1)
	close(second.mayGo)
	later, stop, left := coordinating(t, begun(t, clean(10_000)), conn, second)
	said := working(t, s, WorkOptions{lookAgain: time.Millisecond})
	require.Eventually(t, func() bool { return isStored(t, conn, later) }, time.Minute, 5*time.Millisecond)
	require.NoError(t, taken.Nak())
	assert.True(t, (<-ended).Complete)
	assert.Positive(t, chunksLeft(t, conn, later))
	stop()
	<-left
	lines := said.all()
	require.Greater(t, len(lines), 2)
	assert.Regexp(t, "^campaign "+later+": left for campaign "+older+"; ", lines[1])
	assert.Equal(t, "campaign "+older+" at "+s.url()+": joined", lines[2])
}

// A machine that does not come to an end keeps nobody from all but the chunk that it has in hand.
func TestASlowMachine(t *testing.T) {
	race.SkipLong(t)
	const runs, chunk = 40, 4
	s := startServer(t, nil)
	conn := dialled(t, s)
	dir, mayRun := begun(t, clean(runs)), filepath.Join(t.TempDir(), "may-run")
	c := watch(s, chunk)
	c.AckWait = time.Minute // so that nobody else is given what it has, however busy this machine is
	close(c.mayGo)
	digest, _, ended := coordinating(t, dir, conn, c)
	inHand := func() int {
		chunks, err := conn.js.Consumer(t.Context(), chunksStream(digest), consumerName)
		require.NoError(t, err)
		return chunks.CachedInfo().NumAckPending
	}
	slow := process(t, asSlowMachine, s.url(), mayRun)
	slow.until(t, func() bool { return inHand() > 0 })
	other := process(t, asMachine, s.url())
	other.until(t, func() bool { return done(t, dir) == runs-chunk })
	other.until(t, func() bool { return chunksLeft(t, conn, digest) == 1 })
	assert.Equal(t, 1, inHand(), "the slow one has one chunk")
	require.NoError(t, os.WriteFile(mayRun, nil, 0o644))
	assert.True(t, (<-ended).Complete)
	assert.Equal(t, alone(t, clean(runs)), resultOf(t, dir))
}

// fetched is a chunk that the test takes.
func fetched(t *testing.T, conn *Conn, digest string) jetstream.Msg {
	t.Helper()
	chunks, err := conn.js.Consumer(t.Context(), chunksStream(digest), consumerName)
	require.NoError(t, err)
	msg, err := chunks.Next(jetstream.FetchMaxWait(time.Minute))
	require.NoError(t, err)
	return msg
}

// Whoever looks goes where there is a chunk, and takes it; first where it is oldest.
func TestFind(t *testing.T) {
	s := startServer(t, nil)
	conn := dialled(t, s)
	program, err := campaign.Program(worker())
	require.NoError(t, err)
	var said saying
	w := &machine{conn: conn, opt: WorkOptions{Say: said.say}, program: program, jobs: map[string]*campaign.Job{}, odd: map[string]string{}}
	add := func(runs int) string {
		job := campaign.Job{Version: campaign.SpecVersion, Build: buildname.Of(), Program: program, Spec: finding(runs)}
		text, err := json.Marshal(job)
		require.NoError(t, err)
		_, err = conn.make(t.Context(), job.Digest(), text, facts{"test", job.Build, job.Program, 1}, time.Minute)
		require.NoError(t, err)
		return job.Digest()
	}
	ask := func(digest string, first int) {
		require.NoError(t, conn.each(t.Context(), 1, func(int) (string, any) {
			return chunkSubject(digest, first), chunkMessage{digest, campaign.Chunk{First: first, Count: 1}}
		}))
		// What is stored reaches its consumer by another goroutine of the server.
		require.Eventually(t, func() bool {
			chunks, err := conn.js.Consumer(t.Context(), chunksStream(digest), consumerName)
			require.NoError(t, err)
			known := chunks.CachedInfo()
			return int(known.NumPending)+known.NumAckPending == chunksLeft(t, conn, digest)
		}, time.Minute, time.Millisecond)
	}
	finds := func(digest string, first int) {
		t.Helper()
		o, err := w.find(t.Context())
		require.NoError(t, err)
		require.NotNil(t, o)
		assert.Equal(t, digest, o.digest)
		if first < 0 {
			assert.Nil(t, o.first)
			return
		}
		assert.Equal(t, &campaign.Chunk{First: first, Count: 1}, o.first)
	}
	none, err := w.find(t.Context())
	require.NoError(t, err)
	assert.Nil(t, none)

	older, later := add(10), add(11)
	finds(later, -1) // the older one may have been given up
	ask(later, 0)
	finds(later, 0)
	ask(later, 1)
	ask(older, 0)
	inHand := fetched(t, conn, older)
	finds(later, 1) // the older one has none for others
	require.NoError(t, inHand.Nak())
	var o *offer
	require.Eventually(t, func() bool { // that is not answered
		o, err = w.instead(t.Context(), later, false)
		require.NoError(t, err)
		return o != nil
	}, time.Minute, time.Millisecond)
	assert.Equal(t, chunkSubject(older, 0), o.subject())
	ask(later, 2)
	ask(older, 2)
	finds(older, 2)
	finds(later, 2)

	o, err = w.instead(t.Context(), later, false)
	require.NoError(t, err)
	assert.Nil(t, o, "no other has a chunk")
	ask(later, 3)
	o, err = w.instead(t.Context(), older, true)
	require.NoError(t, err)
	assert.Nil(t, o, "no older one has a chunk")
	o, err = w.instead(t.Context(), older, false)
	require.NoError(t, err)
	assert.Equal(t, chunkSubject(later, 3), o.subject())

	objects, err := conn.js.ObjectStore(t.Context(), jobBucket(older))
	require.NoError(t, err)
	_, err = objects.PutString(t.Context(), jobObject, "{}")
	require.NoError(t, err)
	w.jobs = map[string]*campaign.Job{}
	ask(older, 1)
	ask(later, 4)
	finds(later, 4) // one whose job is wrong keeps nobody from another
	finds(later, -1)
	require.Len(t, said.all(), 1)
	assert.Regexp(t, "^"+s.url()+": the job of campaign "+older+" has the digest [0-9a-f]{16}, and is another's, so that nobody works at it; start its coordinator again, which puts it right, or remove what is left of it with nats stream rm: wavetank-"+older+"-chunks, wavetank-"+older+"-runs and OBJ_wavetank-"+older+"$", said.all()[0])
	require.NoError(t, objects.Delete(t.Context(), jobObject))
	finds(later, -1)
	assert.Contains(t, said.all()[1], "is not there, so that")
	_, err = objects.PutString(t.Context(), jobObject, "[")
	require.NoError(t, err)
	finds(later, -1)
	assert.Contains(t, said.all()[2], "cannot be read, so that")
	add(10) // as its coordinator does that is started again
	finds(older, 1)
}
