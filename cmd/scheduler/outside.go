package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/pflag"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/dlq"
)

// outsideUsage describes the flag that names the outside ledger.
const outsideUsage = "before a replay, ask the system that jobs act on whether the job has had its effect: GET `URL`?tenant=T&idempotency_key=K answers {\"had\": true} or {\"had\": false}; without an answer, nothing is replayed"

// outsideMax bounds an answer of the ledger, in bytes.
const outsideMax = 4096

// outside is the ledger of the system that jobs act on, asked over HTTP.
type outside struct{ url *url.URL }

// openOutside returns the ledger at the http or https address of --ledger, and none if the flag was not given, or is nil. An
// empty address, as of an unset variable, is refused: it would turn off in silence what was asked for.
func openOutside(flag *pflag.Flag) (dlq.Ledger, error) {
	if flag == nil || !flag.Changed {
		return nil, nil
	}
	address := flag.Value.String()
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, cli.Fail(cli.ExitUsage, "--ledger %q is not an address; it looks like http://HOST:PORT/PATH", servers.Public(address))
	}
	return &outside{url: u}, nil
}

// Had asks for one key. An answer that is not plainly yes or no is an error: a ledger that is away, or an address that is
// not the ledger's, must not look like one where nothing was done.
func (o *outside) Had(ctx context.Context, tenant, idempotencyKey string) (bool, error) {
	u := *o.url
	q := u.Query()
	q.Set("tenant", tenant)
	q.Set("idempotency_key", idempotencyKey)
	u.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return false, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("%s answers %s", o.url.Redacted(), resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, outsideMax))
	if err != nil {
		return false, err
	}
	var answer map[string]any // whose keys are told apart by case, as those of a struct are not
	if err := json.Unmarshal(body, &answer); err != nil {
		return false, fmt.Errorf("%s answers no JSON object: %w", o.url.Redacted(), err)
	}
	had, ok := answer["had"].(bool)
	if !ok {
		return false, fmt.Errorf(`%s answers without "had", true or false`, o.url.Redacted())
	}
	return had, nil
}
