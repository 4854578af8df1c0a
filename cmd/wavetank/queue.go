package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/campaign/queue"
)

// queueFlags say where the queue is by which machines share a campaign.
type queueFlags struct {
	server queue.Server
	chunk  int
}

func (f *queueFlags) add(cmd *cobra.Command, url string) {
	cmd.Flags().StringVar(&f.server.URL, "queue", "", url+", `URL` of a nats-server with JetStream, such as nats://nats:4222")
	cmd.Flags().StringVar(&f.server.Creds, "queue-creds", "", "the credentials of a NATS user, a `FILE` of JWT and seed")
	cmd.Flags().StringVar(&f.server.CA, "queue-ca", "", "trust this authority's certificate in PEM, a `FILE` (default the system's authorities)")
}

// chunkMax bounds what is lost when a machine dies.
const chunkMax = 10_000

func (f *queueFlags) check(cmd *cobra.Command) error {
	given := cmd.Flags().Changed("queue")
	for _, name := range []string{"queue-creds", "queue-ca", "chunk"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed && !given {
			return cli.Usage(cmd, "--%s works only with --queue; give both", name)
		}
	}
	switch {
	case given && f.server.URL == "":
		return cli.Usage(cmd, "--queue names no server; give a URL such as nats://nats:4222")
	case f.chunk < 1 || f.chunk > chunkMax:
		return cli.Fail(cli.ExitUsage, "--chunk is %d, out of range; give 1 to %d", f.chunk, chunkMax)
	}
	return nil
}

// addAll adds the flags of the side that has the campaign's folder.
func (f *queueFlags) addAll(cmd *cobra.Command) {
	f.add(cmd, "leave the runs to the machines that join at this queue")
	cmd.Flags().IntVar(&f.chunk, "chunk", queue.ChunkRuns, "runs that a machine takes from the queue at once, `N`")
}

// coordinator lets a campaign's runs be done by whoever joins at the queue, if there is one.
func (f *queueFlags) coordinator(ctx context.Context, stderr io.Writer) (campaign.Elsewhere, error) {
	if f.server.URL == "" {
		return nil, nil
	}
	conn, err := f.server.Dial(ctx, "wavetank")
	if err != nil {
		return nil, f.unusable(err)
	}
	conn.Close()
	return &queue.Coordinator{Server: f.server, Chunk: f.chunk, Say: sayer(stderr)}, nil
}

// unusable is the error of a server that cannot be used, with the flag that it is about.
func (f *queueFlags) unusable(err error) error {
	flag := "--queue"
	if file := new(queue.FileError); errors.As(err, &file) {
		flag += "-" + file.Of
	}
	return cli.Fail(cli.ExitUsage, "%s: %v", flag, err)
}

// use has the campaigns of a command run at the queue, if one is given; the flags have been checked, and there is no folder yet.
func (f *queueFlags) use(ctx context.Context, of *campaignFlags, stderr io.Writer) (err error) {
	of.elsewhere, err = f.coordinator(ctx, stderr)
	return err
}

// inRuns refuses a queue, or a shard at a queue, for what takes a time.
func (f *queueFlags) inRuns(budget time.Duration, flag string, shard *campaign.Shard) error {
	switch {
	case f.server.URL == "":
	case shard != nil:
		return cli.Fail(cli.ExitUsage, "--queue runs a whole campaign, and --shard a part of one; give one of the two")
	case budget > 0:
		return cli.Fail(cli.ExitUsage, "--queue takes a budget in runs, and %s is a time: how many runs fit into a time differs from machine to machine", flag)
	}
	return nil
}

// sayer says things on lines of their own.
func sayer(w io.Writer) func(string, ...any) {
	return func(format string, args ...any) { fmt.Fprintln(w, cli.Pasteable(fmt.Sprintf(format, args...))) }
}
