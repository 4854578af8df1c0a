package queue

import (
	"context"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// user is one who may publish to some subjects, and not to others.
func user(name string, allow []string, deny ...string) *server.User {
	return &server.User{Username: name, Password: "x", Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: allow, Deny: deny},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
	}}
}

// as is the server for a user.
func as(s *natsServer, name string) Server {
	return Server{URL: "nats://" + name + ":x@" + s.url()[len("nats://"):]}
}

// What a user may not do is told at once, with what there is to permit; and that is all that it takes.
func TestUsersWithoutPermissions(t *testing.T) {
	coordinator := []string{"$JS.API.>", "$JS.FC.>", "$O.>", "wavetank.>"}
	machine := []string{"$JS.API.>", "$JS.ACK.>", "$JS.FC.>", "wavetank.>"}
	deaf := user("deaf", machine)
	deaf.Permissions.Subscribe = &server.SubjectPermission{Deny: []string{">"}}
	s := startServer(t, func(o *server.Options) {
		o.Users = []*server.User{
			{Username: "all", Password: "x"}, user("nobody", nil, ">"), deaf, user("coordinator", coordinator), user("machine", machine),
			user("creates-none", coordinator, "$JS.API.STREAM.CREATE.>"), user("asks-none", coordinator, "wavetank.*.chunk.*"), user("stores-none", machine, "wavetank.*.run.*"),
		}
	})
	says := func(what string) string {
		return s.url() + " does not permit this user what it takes (" + what + "); permit a coordinator to publish to $JS.API.>, $JS.FC.>, $O.> and wavetank.>, who works to $JS.API.>, $JS.ACK.>, $JS.FC.> and wavetank.>, and both to subscribe to _INBOX.>"
	}
	_, err := as(s, "nobody").Dial(t.Context(), "test")
	assert.EqualError(t, err, says(`Publish to "$JS.API.INFO"`))
	_, err = as(s, "deaf").Dial(t.Context(), "test")
	require.Error(t, err)
	assert.Regexp(t, `\(Subscription to "_INBOX[^"]*"\); permit `, err.Error())

	dir := begun(t, clean(8))
	_, err = coordinated(t, dir, &Coordinator{Server: as(s, "creates-none"), Chunk: 2})
	require.Error(t, err)
	assert.Regexp(t, `\(Publish to "\$JS.API.STREAM.CREATE.OBJ_wavetank-[0-9a-f]{16}"\); permit `, err.Error())
	_, err = coordinated(t, dir, &Coordinator{Server: as(s, "asks-none"), Chunk: 2})
	require.Error(t, err)
	assert.Regexp(t, `\(Publish to "wavetank.[0-9a-f]{16}.chunk.\d+"\); permit `, err.Error())

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := campaign.Run(ctx, dir, campaign.Options{Workers: 1, Command: worker(), Elsewhere: &Coordinator{Server: as(s, "coordinator"), Chunk: 2}})
		ended <- err
	}()
	conn, err := as(s, "stores-none").Dial(t.Context(), "test")
	require.NoError(t, err)
	defer conn.Close()
	err = Work(t.Context(), conn, WorkOptions{Workers: 1, Command: worker()})
	require.Error(t, err)
	assert.Regexp(t, `\(Publish to "wavetank.[0-9a-f]{16}.run.\d+"\); permit `, err.Error())

	allowed, err := as(s, "machine").Dial(t.Context(), "test")
	require.NoError(t, err)
	defer allowed.Close()
	require.NoError(t, Work(t.Context(), allowed, WorkOptions{Workers: 1, Command: worker(), Once: true}))
	require.NoError(t, <-ended)
	assert.Equal(t, alone(t, clean(8)), resultOf(t, dir))
	assert.NoError(t, allowed.gone())
}

// A machine whose connection the server has closed for good says so, even if it was to leave after one campaign.
func TestAConnectionThatIsClosedForGood(t *testing.T) {
	s := startServer(t, nil)
	machine := make(chan error, 1)
	joined := make(chan struct{}, 16)
	conn := dialled(t, s)
	go func() {
		machine <- Work(t.Context(), conn, WorkOptions{Workers: 1, Command: worker(), Once: true, Say: func(string, ...any) { joined <- struct{}{} }})
	}()
	<-joined // or waits for a campaign
	c := watch(s, 2)
	close(c.mayGo)
	_, stop, ended := coordinating(t, begun(t, finding(10_000)), conn, c)
	<-joined
	stop()
	<-ended
	s.stop()
	s.opts.Username, s.opts.Password = "a", "b"
	s.start(t)
	err := <-machine
	assert.EqualError(t, err, s.url()+" has closed the connection for good: Authorization Violation")
}

// A stream of somebody else's that has a campaign's subjects is named, and nothing of the campaign is left.
func TestAStreamWithTheSubjectsOfACampaign(t *testing.T) {
	for _, subject := range []string{"wavetank.>", "wavetank.*.chunk.*"} {
		s := startServer(t, nil)
		conn := dialled(t, s)
		_, err := conn.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "theirs", Subjects: []string{subject}})
		require.NoError(t, err)
		dir := begun(t, finding(8))
		_, err = coordinated(t, dir, &Coordinator{Server: Server{URL: s.url()}})
		require.Error(t, err)
		assert.Regexp(t, `^nats://127.0.0.1:\d+: the subjects wavetank\.[0-9a-f]{16}\.(run|chunk)\.\* are those of the stream theirs, which is none of Wavetank's; take wavetank\.> from its subjects \(nats stream edit theirs\), or give another server or account$`, err.Error())
		require.NoError(t, conn.js.DeleteStream(t.Context(), "theirs"))
		nothingLeft(t, s)
	}
}
