package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
)

// healthWithin bounds one question to one server.
const healthWithin = time.Second

// well is what is said of a part that does its work.
const well = "ok"

// health answers /healthz, which is about readiness: does the engine run, and can it work with its servers?
type health struct {
	id    string
	redis *redis.Client
	nats  *nats.Conn
	js    jetstream.JetStream

	kernel  func(context.Context) string // what to say of the safety kernel; nil without one
	replica func() bool                  // whether a replica of Redis is waited for; nil without wait_replica

	mu     sync.Mutex
	engine string
	pulls  map[string]error // of each consumer, how its last pull ended
}

// checked is the body of an answer.
type checked struct {
	Status    string `json:"status"` // "ok" or "failing"
	Scheduler string `json:"scheduler"`
	Engine    string `json:"engine"` // "ok", or what is the matter; likewise the others
	Redis     string `json:"redis"`
	NATS      string `json:"nats"`

	// Replica is whether a failover of Redis loses nothing that was acknowledged.
	Replica string `json:"redis_replica,omitempty"`

	// The safety kernel is not the scheduler's to answer for: jobs wait for it, or go on.
	Kernel string `json:"safety_kernel,omitempty"`
}

// says is told what the engine does.
func (h *health) says(engine string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.engine = engine
}

// pulled is told how a pull of a consumer ended.
func (h *health) pulled(consumer string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pulls[consumer] = err
}

// ofEngine is what there is to say of the engine. One that runs is not well while its pulls fail.
func (h *health) ofEngine() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, consumer := range slices.Sorted(maps.Keys(h.pulls)) {
		if err := h.pulls[consumer]; h.engine == well && err != nil {
			return fmt.Sprintf("cannot pull from %s: %s", consumer, servers.Plainly(err))
		}
	}
	return h.engine
}

func (h *health) check(ctx context.Context) checked {
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	c := checked{Status: "failing", Scheduler: h.id}
	var all sync.WaitGroup
	all.Go(func() { c.Redis = said(servers.AskRedis(ctx, h.redis, servers.Writes)) })
	all.Go(func() {
		if c.NATS = servers.NotConnected; h.nats.IsConnected() { // else it would wait in vain
			_, err := h.js.AccountInfo(ctx)
			c.NATS = said(err)
		}
	})
	if h.kernel != nil {
		all.Go(func() { c.Kernel = h.kernel(ctx) })
	}
	all.Wait()
	switch {
	case h.replica == nil:
	case h.replica():
		c.Replica = "waited for"
	default:
		c.Replica = "not waited for yet"
	}
	c.Engine = h.ofEngine()
	if c.Engine == well && c.Redis == well && c.NATS == well {
		c.Status = well
	}
	return c
}

func said(err error) string {
	if err == nil {
		return well
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer within " + healthWithin.String()
	}
	return servers.NetReason(err).Error()
}

// ServeHTTP answers 200 while all is well, else 503; the body says what is not.
func (h *health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := h.check(r.Context())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if c.Status != well {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(c)
}

// listenNone is the --listen that opens no port.
const listenNone = "none"

// serve answers /metrics, /healthz and /livez at addr until the function that it returns is called. The
// address that it returns is the one that it listens on, "" for listenNone.
func serve(addr string, h *health, metrics prometheus.Gatherer) (at string, stop func(), err error) {
	if addr == listenNone {
		return "", func() {}, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", nil, cli.Fail(cli.ExitUsage, "cannot listen on %s: %v; give another address with --listen, or --listen %s", addr, servers.NetReason(err), listenNone)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.Handle("GET /healthz", h)
	// Liveness is not the servers' to decide: a scheduler outlives their outages, and a new one would not help.
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, well+"\n") })
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = srv.Serve(l) }() // until stop
	return l.Addr().String(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), healthWithin)
		defer cancel()
		_ = srv.Shutdown(ctx)
	}, nil
}
