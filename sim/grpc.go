package sim

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"path"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// pipeSize is how many bytes of a call a connection buffers before its sender waits, as with a socket.
const pipeSize = 64 << 10

// peer is the gRPC server and the connections of a process. World.mu guards it.
type peer struct {
	server   *grpc.Server
	listener *bufconn.Listener                      // of the server
	dialled  map[*bufconn.Listener]*grpc.ClientConn // connections to other processes' servers
}

// Serve makes the process a gRPC server under the name of its node, until it crashes. It answers a call
// within the caller's own step, as Redis does. But calls wait while its node is paused, and a handler that
// waits for the process's clock lets others go first.
func (p *Process) Serve(register func(grpc.ServiceRegistrar)) {
	listener := bufconn.Listen(pipeSize)
	s := grpc.NewServer(grpc.UnaryInterceptor(p.handle))
	register(s)
	w := p.node.world
	w.mu.Lock()
	p.rpc.server, p.rpc.listener = s, listener
	w.mu.Unlock()
	go func() { _ = s.Serve(listener) }()
}

// handle makes the calls to a paused server wait.
func (p *Process) handle(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx = served{ctx}
	if p.node.Paused() {
		op := &Op{Kind: KindServe, Name: path.Base(info.FullMethod), Target: p.node.name, call: rpcCall{req}}
		if err := p.do(ctx, op, func() error { return nil }); err != nil {
			return nil, err
		}
	}
	return next(ctx, req)
}

// served is the context of a call at its server. At the deadline the server learns that the call is over by
// its own timer and from the connection, in either order. The two give different errors; served makes them
// one.
type served struct{ context.Context }

func (s served) Err() error {
	if s.Context.Err() == nil {
		return nil
	}
	return context.Canceled
}

// Dial returns the process's gated connection to the server on the node of that name. The server need not be
// up yet. Each unary call is a step of kind [KindCall]; streams are refused. The connection does not
// reconnect in the background: a call to a server that is down fails at once.
func (p *Process) Dial(node string) grpc.ClientConnInterface { return &rpc{p: p, server: node} }

// rpc is a process's connection to one server, whatever its incarnation.
type rpc struct {
	p      *Process
	server string
}

func (c *rpc) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "sim: a world runs unary calls only")
}

func (c *rpc) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	w := c.p.node.world
	op := &Op{Kind: KindCall, Name: path.Base(method), Target: c.server, Tags: w.cfg.Tags(ctx), call: rpcCall{args}, asked: questionOf(args)}
	return c.p.do(ctx, op, func() error {
		granted := w.Now()
		err := c.invoke(ctx, method, args, reply, opts)
		if err == nil {
			op.Data = inJSON(reply)
		}
		if w.Now() > granted { // others have taken steps meanwhile
			return op.returnWith(err, op.Data)
		}
		return err
	})
}

// rpcCall is the request of a gRPC call.
type rpcCall struct{ args any }

func (c rpcCall) compare(other call) int {
	o, _ := other.(rpcCall)
	return strings.Compare(inJSON(c.args), inJSON(o.args))
}

func (c *rpc) invoke(ctx context.Context, method string, args, reply any, opts []grpc.CallOption) error {
	conn, err := c.connect()
	if err == nil {
		err = conn.Invoke(ctx, method, args, reply, opts...)
	}
	switch code := status.Code(err); code {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		return status.Error(code, plain[code]) // the detail of how a connection ended depends on the Go scheduler
	}
	return err
}

var plain = map[codes.Code]string{
	codes.Unavailable:      "the server cannot be reached",
	codes.Canceled:         context.Canceled.Error(),
	codes.DeadlineExceeded: context.DeadlineExceeded.Error(),
}

// connect returns the connection to the server's present incarnation.
func (c *rpc) connect() (*grpc.ClientConn, error) {
	w := c.p.node.world
	w.mu.Lock()
	defer w.mu.Unlock()
	var listener *bufconn.Listener
	if n := w.Find(c.server); n != nil && n.process != nil {
		listener = n.process.rpc.listener
	}
	if listener == nil {
		return nil, status.Error(codes.Unavailable, "")
	}
	if conn := c.p.rpc.dialled[listener]; conn != nil {
		return conn, nil
	}
	conn, err := grpc.NewClient("passthrough:///"+c.server,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithIdleTimeout(0), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry())
	if err != nil {
		return nil, err
	}
	if c.p.rpc.dialled == nil {
		c.p.rpc.dialled = map[*bufconn.Listener]*grpc.ClientConn{}
	}
	c.p.rpc.dialled[listener] = conn
	return conn, nil
}

// questionOf is the request of a call as its event has it. It replaces bytes by a [Gist]: they may be many,
// and secret.
func questionOf(message any) string {
	m, ok := message.(proto.Message)
	if !ok {
		return inJSON(message)
	}
	bare, gists := m.ProtoReflect().New(), map[string]string{}
	m.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if field.Kind() == protoreflect.BytesKind && field.Cardinality() != protoreflect.Repeated {
			gists[string(field.Name())] = Gist(v.Bytes())
		} else {
			bare.Set(field, v)
		}
		return true
	})
	said := inJSON(bare.Interface())
	if len(gists) == 0 {
		return said
	}
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal([]byte(said), &fields) // it is what Marshal wrote
	for name, gist := range gists {
		fields[name] = json.RawMessage(inJSON(gist))
	}
	return inJSON(fields)
}

// Gist identifies bytes by their hash and their number.
func Gist(b []byte) string {
	sum := sha256.Sum256(b)
	return fmt.Sprintf("sha256:%x of %d bytes", sum[:8], len(b))
}

// inJSON returns a request or an answer as JSON.
func inJSON(message any) string {
	body, _ := json.Marshal(message) // protojson's spaces differ from build to build
	return string(body)
}

// close closes the process's gRPC server and connections.
func (r *peer) close() {
	for _, conn := range r.dialled {
		_ = conn.Close()
	}
	if r.server != nil {
		r.server.Stop()
		_ = r.listener.Close()
	}
}
