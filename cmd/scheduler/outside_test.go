package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/dlq"
)

func TestTheOutsideLedgersAnswers(t *testing.T) {
	for answer, want := range map[string]struct {
		had bool
		err string
	}{
		`200 {"had": true}`:            {had: true},
		`200 {"had": false}`:           {},
		`200 {"had": true, "at": "x"}`: {had: true},
		`200 {}`:                       {err: `answers without "had"`},
		`200 <html>`:                   {err: "answers no JSON"},
		`200 {"had": "yes"}`:           {err: `answers without "had"`},
		`200 {"HAD": false}`:           {err: `answers without "had"`},
		`200 {"had": false}<html>`:     {err: "answers no JSON"},
		`404 {"had": false}`:           {err: "answers 404 Not Found"},
		`503 {"had": true}`:            {err: "answers 503 Service Unavailable"},
	} {
		t.Run(answer, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				assert.Equal(t, "GET /effects?idempotency_key=key+1%3F&since=0&tenant=a%26b", r.Method+" "+r.URL.RequestURI())
				var status int
				_, err := fmt.Sscan(answer, &status)
				assert.NoError(t, err)
				w.WriteHeader(status)
				_, _ = w.Write([]byte(answer[4:]))
			}))
			defer server.Close()
			l, err := openOutside(ledgerFlag(t, server.URL+"/effects?since=0"))
			require.NoError(t, err)
			had, err := l.Had(t.Context(), "a&b", "key 1?")
			assert.Equal(t, want.had, had)
			if want.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, want.err)
			}
		})
	}
}

// ledgerFlag is --ledger as it was given.
func ledgerFlag(t *testing.T, address string) *pflag.Flag {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("ledger", "", "")
	require.NoError(t, flags.Set("ledger", address))
	return flags.Lookup("ledger")
}

func TestAnOutsideLedgerIsAnAddress(t *testing.T) {
	l, err := openOutside(pflag.NewFlagSet("", pflag.ContinueOnError).Lookup("ledger"))
	require.NoError(t, err)
	assert.True(t, l == nil, "the engine asks nobody")
	for _, address := range []string{"", "ledger", "/ledger", "ftp://ledger", "http://", "http://a b", "localhost:80"} {
		_, err := openOutside(ledgerFlag(t, address))
		require.ErrorContains(t, err, "is not an address; it looks like http://HOST:PORT/PATH", address)
	}
	l, err = openOutside(ledgerFlag(t, "http://user:secret@127.0.0.1:1/"))
	require.NoError(t, err)
	_, err = l.Had(t.Context(), "", "key")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "secret")
}

// What the ledger knows is not done again, by a scheduler or by a person; while it gives no answer nothing is.
func TestAReplayAsksTheOutsideLedger(t *testing.T) {
	ledger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("idempotency_key") {
		case "done":
			_, _ = w.Write([]byte(`{"had": true}`))
		case "open":
			_, _ = w.Write([]byte(`{"had": false}`))
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer ledger.Close()
	policy := filepath.Join(t.TempDir(), "triage.yaml")
	require.NoError(t, os.WriteFile(policy, []byte(triageForTests), 0o600))
	failed := func(t *testing.T, flags ...string) (s *process, at []string, status func(id string) string) {
		at = []string{"--redis", startRedis(t), "--nats", startNATS(t, freeAddr(t), t.TempDir()).ClientURL()}
		args := append(append([]string{"serve", "--id", "scheduler-1", "--listen", "127.0.0.1:0", "--set", "engine.replay.backoff_base=100ms"}, at...), flags...)
		s = start(t, append(args, fast...)...)
		s.is(200, `"status":"ok"`)
		start(t, "worker", "--id", "worker-1", "--fail-rate", "1", "--fail-reason", "dependency_unavailable", "--heartbeat", "200ms", at[0], at[1], at[2], at[3])
		for _, key := range []string{"done", "open", "unknown"} {
			client(t, cli.ExitViolated, at, "submit", "--id", key, "--wait")
		}
		return s, at, func(id string) string {
			var shown struct {
				Entry dlq.Entry `json:"entry"`
			}
			require.NoError(t, json.Unmarshal([]byte(client(t, cli.ExitHeld, at, "dlq", "show", id, "--json").output()), &shown))
			return shown.Entry.ReplayStatus
		}
	}

	t.Run("a scheduler", func(t *testing.T) {
		s, _, status := failed(t, "--dlq-policy", policy, "--ledger", ledger.URL)
		s.says("Before a replay, the ledger at " + ledger.URL + " is asked")
		s.eventually("done", func() bool { return status("done") == dlq.AlreadyCommitted })
		s.eventually("open", func() bool { return status("open") == dlq.Replayed })
		assert.NotContains(t, []string{dlq.Replayed, dlq.AlreadyCommitted}, status("unknown"))
	})
	t.Run("a person", func(t *testing.T) {
		_, at, status := failed(t)
		client(t, cli.ExitInconclusive, at, "dlq", "replay", "unknown", "open", "--ledger", ledger.URL).says("503 Service Unavailable.*; not tried: open")
		client(t, cli.ExitHeld, at, "dlq", "replay", "open", "--dry-run", "--ledger", ledger.URL).says("open would be replayed, after dependency_unavailable, unless the ledger says that it has been done")
		client(t, cli.ExitHeld, at, "dlq", "replay", "done", "open", "--ledger", ledger.URL)
		assert.Equal(t, dlq.AlreadyCommitted, status("done"))
		assert.Equal(t, dlq.Replayed, status("open"))
	})
	t.Run("a person, of what schedulers without a ledger have triaged", func(t *testing.T) {
		manual := filepath.Join(t.TempDir(), "triage.yaml")
		require.NoError(t, os.WriteFile(manual, []byte("version: v1\ndlq_rules:\n  - {match: {reason_code: dependency_unavailable}, action: manual_review}\n"), 0o600))
		s, at, status := failed(t, "--dlq-policy", manual)
		for _, id := range []string{"done", "unknown"} {
			s.eventually(id, func() bool {
				return strings.Contains(client(t, cli.ExitHeld, at, "dlq", "show", id, "--json").output(), `"action": "manual_review"`)
			})
		}
		client(t, cli.ExitHeld, at, "dlq", "replay", "done", "--ledger", ledger.URL)
		assert.Equal(t, dlq.AlreadyCommitted, status("done"))
		client(t, cli.ExitInconclusive, at, "dlq", "replay", "unknown", "--ledger", ledger.URL).says("503 Service Unavailable")
		assert.Equal(t, dlq.PendingReview, status("unknown"))
	})
}
