package dlq

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a policy's file, which keep a wrong one from busying the YAML parser.
const (
	policyBytesMax = 1 << 20
	depthMax       = 32
)

// PolicyError is what is wrong with a triage policy, and what would be right. Line and Column are those of
// the file; they are 0 where the file as a whole is meant.
type PolicyError struct {
	File    string
	Line    int // from 1
	Column  int // from 1
	Path    string
	Message string
	Remedy  string
}

// Error is one line: FILE:LINE:COLUMN: message; remedy.
func (e *PolicyError) Error() string {
	place := ""
	switch {
	case e.File != "" && e.Line > 0:
		place = fmt.Sprintf("%s:%d:%d: ", e.File, e.Line, e.Column)
	case e.File != "":
		place = e.File + ": "
	}
	return place + e.Message + "; " + e.Remedy
}

// ParsePolicy reads a policy's YAML strictly: all of it, or nothing. name stands for the file in errors,
// which are *PolicyError.
func ParsePolicy(name string, data []byte) (*Policy, error) {
	p, err := parsePolicy(data)
	var pe *PolicyError
	if errors.As(err, &pe) {
		pe.File = name
	}
	return p, err
}

func parsePolicy(data []byte) (*Policy, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(data) > policyBytesMax:
		return nil, &PolicyError{Message: "this is longer than a triage policy can be", Remedy: fmt.Sprintf("a policy has at most %d KiB", policyBytesMax>>10)}
	case !utf8.Valid(data) || bytes.ContainsFunc(data, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f }):
		return nil, &PolicyError{Message: "this is not text", Remedy: "a triage policy is YAML in UTF-8"}
	case tooDeep(data):
		return nil, &PolicyError{Message: "its brackets nest too deep", Remedy: "a triage policy needs no such line"}
	}
	file, err := parser.ParseBytes(data, 0)
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax) && syntax.GetToken() != nil:
		return nil, refuse(syntax.GetToken(), "", "broken YAML: "+syntax.GetMessage(), "mend the syntax here or just before")
	case err != nil:
		return nil, &PolicyError{Message: "broken YAML: " + err.Error(), Remedy: "mend the syntax"}
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return nil, refuse(first(doc.Body), "", "a second document begins here", "a file holds one triage policy")
		}
		body = doc.Body
	}
	if body == nil {
		return nil, &PolicyError{Message: "this is empty", Remedy: "a triage policy has version: v1 and dlq_rules"}
	}
	return PolicyOf("", body)
}

func tooDeep(data []byte) bool {
	depth, deepest := 0, 0
	for _, b := range data {
		switch b {
		case '\n':
			depth = 0
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		deepest = max(deepest, depth)
	}
	return deepest > depthMax
}

// PolicyOf reads a policy that is part of another YAML file, where it is called path. Its errors are
// *PolicyError without a File.
func PolicyOf(path string, node ast.Node) (*Policy, error) {
	d := &policyReader{}
	p := &Policy{}
	d.mapping(path, "a triage policy", node, map[string]func(string, ast.Node){
		"version": func(path string, n ast.Node) {
			p.Version = d.word(path, n)
			d.oneOf(path, n, p.Version, "this build reads ", []string{PolicyVersion})
		},
		"dlq_rules": func(path string, n ast.Node) { p.Rules = d.rules(path, n) },
	}, "version", "dlq_rules")
	if d.err != nil {
		return nil, d.err
	}
	return p, nil
}

// policyReader keeps the first error.
type policyReader struct{ err error }

func refuse(at *token.Token, path, message, remedy string) *PolicyError {
	return &PolicyError{Line: at.Position.Line, Column: at.Position.Column, Path: path, Message: message, Remedy: remedy}
}

func (d *policyReader) refuse(at *token.Token, path, message, remedy string) {
	if d.err == nil {
		d.err = refuse(at, path, message, remedy)
	}
}

// mapping reads a mapping, each key of which has its reader, and of which some must be there.
func (d *policyReader) mapping(path, what string, node ast.Node, keys map[string]func(path string, n ast.Node), order ...string) map[string]ast.Node {
	m, ok := node.(*ast.MappingNode)
	if !ok {
		d.refuse(first(node), path, what+" is not a mapping", "give the keys "+strings.Join(order, ", "))
		return nil
	}
	seen := map[string]ast.Node{}
	for _, entry := range m.Values {
		key := entry.Key.GetToken()
		read := keys[key.Value]
		if _, plain := entry.Key.(*ast.StringNode); !plain || read == nil {
			d.refuse(key, under(path, key.Value), fmt.Sprintf("unknown key %q in %s", key.Value, what), "known are "+strings.Join(sorted(keys, order), ", "))
			return seen
		}
		if seen[key.Value] != nil {
			d.refuse(key, under(path, key.Value), fmt.Sprintf("%s is there already", key.Value), "give it once")
			return seen
		}
		seen[key.Value] = entry.Value
		read(under(path, key.Value), entry.Value)
	}
	for _, key := range order {
		if seen[key] == nil {
			d.refuse(first(node), path, fmt.Sprintf("%s has no %s", what, key), "add it")
		}
	}
	return seen
}

// sorted lists keys: those that must be there first.
func sorted(keys map[string]func(string, ast.Node), order []string) []string {
	names := slices.Clone(order)
	for _, k := range ruleKeys {
		if keys[k] != nil && !slices.Contains(names, k) {
			names = append(names, k)
		}
	}
	return names
}

var (
	ruleKeys = []string{"match", "action", "max_replays", "backoff", "owner", "approver_group"}
	actions  = []string{string(AutoReplay), string(Quarantine), string(RequireApproval), string(ManualReview)}
)

func (d *policyReader) rules(path string, node ast.Node) (rules []Rule) {
	list, ok := node.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		d.refuse(first(node), path, "dlq_rules is not a list of rules", "write each rule after a dash, with match and action")
		return nil
	}
	matched := map[string]int{}
	for i, n := range list.Values {
		r := d.rule(fmt.Sprintf("%s[%d]", path, i), n)
		if d.err != nil {
			return nil
		}
		if before := matched[r.Match.ReasonCode]; before > 0 {
			d.refuse(first(n), path, fmt.Sprintf("rule %d is never reached: rule %d matches reason_code %s already", i+1, before, r.Match.ReasonCode), "take one of the two away")
			return nil
		}
		matched[r.Match.ReasonCode] = i + 1
		rules = append(rules, r)
	}
	return rules
}

func (d *policyReader) rule(path string, node ast.Node) (r Rule) {
	said := d.mapping(path, "a rule", node, map[string]func(string, ast.Node){
		"match": func(path string, n ast.Node) {
			d.mapping(path, "match", n, map[string]func(string, ast.Node){"reason_code": func(path string, n ast.Node) {
				r.Match.ReasonCode = d.word(path, n)
				d.oneOf(path, n, r.Match.ReasonCode, "one of ", ReasonCodes())
			}}, "reason_code")
		},
		"action": func(path string, n ast.Node) {
			r.Action = Action(d.word(path, n))
			d.oneOf(path, n, string(r.Action), "one of ", actions)
		},
		"max_replays": func(path string, n ast.Node) { r.MaxReplays = d.count(path, n) },
		"backoff": func(path string, n ast.Node) {
			r.Backoff = d.word(path, n)
			d.oneOf(path, n, r.Backoff, "the only one is ", []string{ExponentialJitter})
		},
		"owner":          func(path string, n ast.Node) { r.Owner = d.word(path, n) },
		"approver_group": func(path string, n ast.Node) { r.ApproverGroup = d.word(path, n) },
	}, "match", "action")
	means := map[string][]Action{
		"max_replays": {AutoReplay, RequireApproval}, "backoff": {AutoReplay}, "approver_group": {RequireApproval},
		"owner": {AutoReplay, Quarantine, RequireApproval, ManualReview},
	}
	for _, key := range ruleKeys {
		if n := said[key]; n != nil && means[key] != nil && !slices.Contains(means[key], r.Action) {
			d.refuse(first(n), under(path, key), fmt.Sprintf("%s means nothing with action %s", key, r.Action), fmt.Sprintf("leave it out, or make the action %s", either(means[key])))
		}
	}
	return r
}

func either(actions []Action) string {
	words := make([]string, len(actions))
	for i, a := range actions {
		words[i] = string(a)
	}
	return strings.Join(words, " or ")
}

// word reads text that is no number and no truth value.
func (d *policyReader) word(path string, node ast.Node) string {
	s, ok := node.(*ast.StringNode)
	switch {
	case !ok:
		d.refuse(first(node), path, fmt.Sprintf("%s is not a word", last(path)), "give plain text, such as platform-governance")
		return ""
	case strings.TrimSpace(s.Value) == "":
		d.refuse(first(node), path, fmt.Sprintf("%s is empty", last(path)), "give it a value, or leave the key out")
	}
	return s.Value
}

func (d *policyReader) oneOf(path string, node ast.Node, word, says string, allowed []string) {
	if d.err == nil && !slices.Contains(allowed, word) {
		d.refuse(first(node), path, fmt.Sprintf("%s is %q", last(path), word), says+strings.Join(allowed, ", "))
	}
}

func (d *policyReader) count(path string, node ast.Node) int {
	n, err := strconv.Atoi(first(node).Value)
	if _, whole := node.(*ast.IntegerNode); !whole || err != nil || n < 1 || n > maxReplaysLimit {
		d.refuse(first(node), path, fmt.Sprintf("%s is %s", last(path), first(node).Value), fmt.Sprintf("give a whole number from 1 to %d", maxReplaysLimit))
		return 0
	}
	return n
}

// first is where a person would say that node begins: a block mapping's own token is the colon after
// its first key.
func first(node ast.Node) *token.Token {
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return node.GetToken()
}

func under(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// last is the key at the end of a path.
func last(path string) string { return path[strings.LastIndex(path, ".")+1:] }
