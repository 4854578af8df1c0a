package alerts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"

	"github.com/wavetank-sim/wavetank/scenarios/samples"
)

// Evaluate evaluates a file of rules at each scrape of a recording. It returns the alerts that fired, in the order of
// time.
func Evaluate(rec *samples.Recording, file []byte) ([]samples.Alert, error) {
	var fired []samples.Alert
	open := map[string]int{} // index in fired
	err := evaluate(rec, file, func(at time.Duration, firing []*rules.Alert) {
		now := map[string]bool{}
		for _, a := range firing {
			key := a.Labels.String()
			now[key] = true
			if _, known := open[key]; known {
				continue
			}
			open[key] = len(fired)
			about := a.Labels.Map()
			delete(about, model.AlertNameLabel)
			fired = append(fired, samples.Alert{
				Name: a.Labels.Get(model.AlertNameLabel), Labels: about, Summary: a.Annotations.Get("summary"), Fired: at,
			})
		}
		for key, i := range open {
			if !now[key] {
				fired[i].Over = at
				delete(open, key)
			}
		}
	})
	return fired, err
}

// evaluation hears what fires at one evaluation, in the order of names and labels.
type evaluation func(at time.Duration, firing []*rules.Alert)

func evaluate(rec *samples.Recording, file []byte, tell evaluation) error {
	input, err := load(rec)
	if err != nil {
		return err
	}
	p := parser.NewParser(parser.Options{})
	store, err := promqltest.NewLazyLoader(input, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: p})
	if err != nil {
		return fmt.Errorf("load samples: %w", err)
	}
	defer func() { _ = store.Close() }()
	store.SubqueryInterval = rec.Interval
	groups, errs := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(store.QueryEngine(), store.Storage()), AppendableV2: store.Storage(),
		Context: context.Background(), NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger: promslog.NewNopLogger(), Parser: p, GroupLoader: given{p, file},
	}).LoadGroups(rec.Interval, labels.EmptyLabels(), "", nil, false, "rules")
	if len(errs) > 0 {
		return fmt.Errorf("load rules: %w", errors.Join(errs...))
	}
	there := false
	for _, g := range groups {
		for _, r := range g.Rules() {
			if alerting, ok := r.(*rules.AlertingRule); ok {
				alerting.SetRestored(true) // nothing is to be restored from before the run
				there = true
			}
		}
	}
	if !there {
		return errors.New("there is no alerting rule; write one, as in groups: [{name: mine, rules: [{alert: Busy, expr: up > 0}]}]")
	}
	for i := range rec.Scrapes {
		at := time.Duration(i) * rec.Interval
		if err := evaluateAt(store, groups, at, tell); err != nil {
			return fmt.Errorf("at %s: %w", at, err)
		}
	}
	return nil
}

// given is a file of rules that has been read.
type given struct {
	parser.Parser
	file []byte
}

func (g given) Load(_ string, unknown bool, names model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	return rulefmt.Parse(g.file, unknown, names, g.Parser, promslog.NewNopLogger())
}

func (g given) Parse(query string) (parser.Expr, error) { return g.ParseExpr(query) }

// evaluateAt evaluates all groups once. No group depends on another.
func evaluateAt(store *promqltest.LazyLoader, groups map[string]*rules.Group, when time.Duration, tell evaluation) (err error) {
	now := time.Unix(0, 0).UTC().Add(when)
	store.WithSamplesTill(now, func(loaded error) { err = loaded })
	var firing []*rules.Alert
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		groups[name].Eval(store.Context(), now)
		for _, r := range groups[name].Rules() {
			err = errors.Join(err, r.LastError())
			if alerting, ok := r.(*rules.AlertingRule); ok {
				firing = append(firing, alerting.ActiveAlerts()...)
			}
		}
	}
	firing = slices.DeleteFunc(firing, func(a *rules.Alert) bool { return a.State != rules.StateFiring })
	slices.SortFunc(firing, func(a, b *rules.Alert) int {
		return cmp.Or(strings.Compare(a.Labels.Get(model.AlertNameLabel), b.Labels.Get(model.AlertNameLabel)), labels.Compare(a.Labels, b.Labels))
	})
	tell(when, firing)
	return err
}

// load is a recording as Prometheus's own tests load one.
func load(rec *samples.Recording) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "load %s\n", model.Duration(rec.Interval))
	for i := range rec.Series {
		values, err := rec.Series[i].Values.MarshalText()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "  %s %s\n", &rec.Series[i], values)
	}
	return b.String(), nil
}
