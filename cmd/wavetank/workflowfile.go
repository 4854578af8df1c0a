package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/workflow"
	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/scenarios"
)

// loadRun reads a run's file, "-" being standard input, strictly: all of it, or nothing.
func loadRun(path string, stdin io.Reader) (workflow.Run, error) {
	const give = "the file of a run, or - to read standard input"
	switch {
	case path == "":
		return workflow.Run{}, fail(exitUsage, "FILE is empty; give %s", give)
	case scenarios.FromStandardInput(path):
		data, err := scenarios.ReadAll("standard input", stdin)
		if err != nil {
			return workflow.Run{}, err
		}
		return parseRun("standard input", data)
	}
	data, err := scenarios.ReadFile(path, give)
	if err != nil {
		return workflow.Run{}, err
	}
	return parseRun(path, data)
}

// parseRun reads a run's YAML or JSON. name stands for the file in errors.
func parseRun(name string, data []byte) (run workflow.Run, err error) {
	if json.Valid(data) { // where a tab may stand, which YAML does not indent by
		data = bytes.ReplaceAll(data, []byte("\t"), []byte(" "))
	}
	body, err := scenarios.Document(name, "a run", "run_id, workflow_id and steps", data)
	if err != nil {
		return run, err
	}
	d := &runReader{at: map[string]*token.Token{}}
	d.run(body, &run)
	if d.err == nil {
		d.validate(&run)
	}
	if d.err != nil {
		d.err.File = name
		if lines := strings.Split(string(data), "\n"); d.err.Line >= 1 && d.err.Line <= len(lines) {
			d.err.Source = strings.TrimRight(lines[d.err.Line-1], "\r")
		}
		return workflow.Run{}, d.err
	}
	return run, nil
}

// runReader reads the nodes of a run's file, up to the first error, and remembers where each stands.
type runReader struct {
	at  map[string]*token.Token
	err *scenarios.PlanError
}

func (d *runReader) refuse(at *token.Token, path, message, remedy string) {
	if d.err == nil {
		d.err = &scenarios.PlanError{Line: at.Position.Line, Column: at.Position.Column, Path: path, Message: message, Remedy: remedy}
	}
}

// validate gives what is wrong with the run as a whole its place, or that of what it is part of.
func (d *runReader) validate(run *workflow.Run) {
	var fe *workflow.FieldError
	if !errors.As(run.Validate(), &fe) {
		return
	}
	path := fe.Path
	for d.at[path] == nil && path != "" {
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	d.refuse(d.at[path], fe.Path, fe.Error(), "")
}

// runKey is a key of a mapping, and what reads its value.
type runKey struct {
	name string
	read func(path string, n ast.Node)
}

// mapping reads a mapping of known keys, of which the first ones must be there.
func (d *runReader) mapping(path, what string, node ast.Node, needed int, keys ...runKey) {
	var known []string
	for _, k := range keys {
		known = append(known, k.name)
	}
	m, ok := node.(*ast.MappingNode)
	if !ok {
		d.refuse(scenarios.FirstToken(node), path, what+" is not a mapping of keys", "give keys such as "+strings.Join(known[:min(3, len(known))], ", "))
		return
	}
	there := map[string]bool{}
	for _, entry := range m.Values {
		key := entry.Key.GetToken()
		i := -1
		for j, k := range keys {
			if k.name == key.Value {
				i = j
			}
		}
		if _, plain := entry.Key.(*ast.StringNode); !plain || i < 0 {
			d.refuse(key, under(path, key.Value), fmt.Sprintf("unknown key %q in %s", key.Value, what), "known are "+strings.Join(known, ", ")+suggest.Hint(key.Value, known))
			return
		}
		there[key.Value] = true
		d.value(under(path, key.Value), entry.Value, keys[i].read)
	}
	for _, name := range known[:needed] {
		if !there[name] {
			d.refuse(scenarios.FirstToken(node), path, fmt.Sprintf("%s has no %s", what, name), "add it")
		}
	}
}

// value has a value read that is one.
func (d *runReader) value(path string, node ast.Node, read func(path string, n ast.Node)) {
	d.at[path] = scenarios.FirstToken(node)
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.refuse(scenarios.FirstToken(node), path, path+" uses an anchor, an alias or a tag", "a run is plain YAML: write the value out")
	case *ast.NullNode:
		d.refuse(scenarios.FirstToken(node), path, path+" has no value", "give one, or leave the key out")
	default:
		if d.err == nil {
			read(path, node)
		}
	}
}

func (d *runReader) run(body ast.Node, r *workflow.Run) {
	d.at[""] = scenarios.FirstToken(body)
	d.mapping("", "a run", body, 3,
		runKey{"run_id", d.text(&r.RunID)},
		runKey{"workflow_id", d.text(&r.WorkflowID)},
		runKey{"steps", d.list("steps", func(path string, n ast.Node) {
			var s workflow.Step
			d.step(path, n, &s)
			r.Steps = append(r.Steps, s)
		})},
		runKey{"tenant", d.text(&r.Tenant)})
}

func (d *runReader) step(path string, node ast.Node, s *workflow.Step) {
	d.mapping(path, "a step", node, 2,
		runKey{"id", d.text(&s.ID)},
		runKey{"topic", d.text(&s.Topic)},
		runKey{"depends_on", d.list("ids", func(path string, n ast.Node) {
			var id string
			d.text(&id)(path, n)
			s.DependsOn = append(s.DependsOn, id)
		})},
		runKey{"delay_sec", d.number(&s.DelaySec)},
		runKey{"delay_until", d.instant(&s.DelayUntil)},
		runKey{"retry", func(path string, n ast.Node) {
			var tries int64
			d.mapping(path, "retry", n, 1, runKey{"max", d.number(&tries)}, runKey{"backoff_ms", d.number(&s.Retry.BackoffMS)})
			s.Retry.Max = int(tries)
		}},
		runKey{"payload", d.raw(&s.Payload)},
		runKey{"labels", d.texts(&s.Labels)},
		runKey{"capability", d.text(&s.Capability)},
		runKey{"compensation", func(path string, n ast.Node) {
			s.Compensation = &job.Compensation{}
			d.compensation(path, n, s.Compensation)
		}})
}

func (d *runReader) compensation(path string, node ast.Node, c *job.Compensation) {
	d.mapping(path, "compensation", node, 0,
		runKey{"topic", d.text(&c.Topic)},
		runKey{"payload", d.raw(&c.Payload)},
		runKey{"labels", d.texts(&c.Labels)},
		runKey{"env", d.texts(&c.Env)},
		runKey{"budget", func(path string, n ast.Node) {
			c.Budget = &job.Budget{}
			d.mapping(path, "budget", n, 1, runKey{"deadline_ms", d.number(&c.Budget.DeadlineMS)})
		}},
		runKey{"capability", d.text(&c.Capability)},
		runKey{"idempotency_key", d.text(&c.IdempotencyKey)})
}

// text reads a word or a sentence.
func (d *runReader) text(into *string) func(path string, n ast.Node) {
	return func(path string, node ast.Node) {
		switch n := node.(type) {
		case *ast.StringNode:
			*into = n.Value
		case *ast.LiteralNode:
			*into = n.Value.Value
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
			word := scenarios.FirstToken(node).Value
			d.refuse(scenarios.FirstToken(node), path, fmt.Sprintf("%s is %s, which is not text", path, word), fmt.Sprintf("write %q, with quotes, if you mean it", word))
		default:
			d.refuse(scenarios.FirstToken(node), path, path+" is not text", "give a word or a sentence")
		}
		if *into == "" {
			d.refuse(scenarios.FirstToken(node), path, path+" is empty", "give it a value, or leave the key out")
		}
	}
}

// number reads a whole number; what it may be, the run's own validation says.
func (d *runReader) number(into *int64) func(path string, n ast.Node) {
	return func(path string, node ast.Node) {
		n, err := strconv.ParseInt(scenarios.FirstToken(node).Value, 10, 64)
		if _, whole := node.(*ast.IntegerNode); !whole || err != nil {
			d.refuse(scenarios.FirstToken(node), path, path+" is not a whole number", "write one such as 30, without quotes")
		}
		*into = n
	}
}

// instant reads a time, in unix milliseconds or as RFC 3339 has it.
func (d *runReader) instant(into *int64) func(path string, n ast.Node) {
	return func(path string, node ast.Node) {
		s, text := node.(*ast.StringNode)
		if !text {
			d.number(into)(path, node)
			return
		}
		at, err := time.Parse(time.RFC3339, s.Value)
		if err != nil {
			d.refuse(scenarios.FirstToken(node), path, fmt.Sprintf("%s is %q, which is no time", path, s.Value), "write it as 2030-01-02T15:04:05Z, or in unix milliseconds")
		}
		*into = at.UnixMilli()
	}
}

func (d *runReader) list(of string, read func(path string, n ast.Node)) func(path string, n ast.Node) {
	return func(path string, node ast.Node) {
		s, ok := node.(*ast.SequenceNode)
		if !ok {
			d.refuse(scenarios.FirstToken(node), path, fmt.Sprintf("%s is not a list of %s", path, of), "write it as a list, each entry after a dash")
			return
		}
		for i, n := range s.Values {
			d.value(fmt.Sprintf("%s[%d]", path, i), n, read)
		}
	}
}

// texts reads a mapping of words to words.
func (d *runReader) texts(into *map[string]string) func(path string, n ast.Node) {
	return func(path string, node ast.Node) {
		m, ok := node.(*ast.MappingNode)
		if !ok {
			d.refuse(scenarios.FirstToken(node), path, path+" is not a mapping of keys", "write it as {zone: a}")
			return
		}
		*into = map[string]string{}
		for _, entry := range m.Values {
			var value string
			key := d.key(path, entry.Key)
			d.value(under(path, key), entry.Value, d.text(&value))
			(*into)[key] = value
		}
	}
}

// raw reads any value, as JSON.
func (d *runReader) raw(into *json.RawMessage) func(path string, n ast.Node) {
	return func(path string, node ast.Node) {
		var b bytes.Buffer
		d.json(&b, path, node)
		*into = b.Bytes()
	}
}

// json writes what a node is as JSON. A number stays as it is written.
func (d *runReader) json(b *bytes.Buffer, path string, node ast.Node) {
	word := scenarios.FirstToken(node).Value
	switch n := node.(type) {
	case *ast.NullNode:
		b.WriteString("null")
	case *ast.BoolNode:
		b.WriteString(strconv.FormatBool(n.Value))
	case *ast.IntegerNode, *ast.FloatNode:
		if !json.Valid([]byte(word)) {
			d.refuse(scenarios.FirstToken(node), path, fmt.Sprintf("%s is %s, which is no number of JSON", path, word), "write it as a decimal number, or in quotes")
		}
		b.WriteString(word)
	case *ast.StringNode:
		if n.Token.Type == token.StringType && json.Valid([]byte(n.Value)) { // a number that the YAML parser does not know as one, such as 1e3
			b.WriteString(n.Value)
			return
		}
		b.Write(quoted(n.Value))
	case *ast.LiteralNode:
		b.Write(quoted(n.Value.Value))
	case *ast.SequenceNode:
		b.WriteByte('[')
		for i, entry := range n.Values {
			if i > 0 {
				b.WriteByte(',')
			}
			d.json(b, fmt.Sprintf("%s[%d]", path, i), entry)
		}
		b.WriteByte(']')
	case *ast.MappingNode:
		b.WriteByte('{')
		for i, entry := range n.Values {
			if i > 0 {
				b.WriteByte(',')
			}
			key := d.key(path, entry.Key)
			b.Write(quoted(key))
			b.WriteByte(':')
			d.json(b, under(path, key), entry.Value)
		}
		b.WriteByte('}')
	default:
		d.refuse(scenarios.FirstToken(node), path, fmt.Sprintf("%s is %q, which JSON cannot say", path, word), "write plain values, lists and mappings")
	}
}

// quoted is text as JSON.
func quoted(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // of text it never fails
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// key is a mapping's key, which is text.
func (d *runReader) key(path string, node ast.MapKeyNode) string {
	word := node.GetToken().Value
	if _, plain := node.(*ast.StringNode); !plain {
		d.refuse(node.GetToken(), path, fmt.Sprintf("%q in %s is a key that is not text", word, path), "write it in quotes")
	}
	return word
}

func under(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
