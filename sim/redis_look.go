package sim

import (
	"cmp"
	_ "embed"
	"errors"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// look reads the places that an operation of one client may have changed. It is sent right after the
// operation's commands, which saves a round trip.
type look struct {
	call     *redisCall
	commands [][]string
	left     int   // commands of the operation that have not been sent yet
	answers  []any // one for each command
}

func (*realRedis) behind(c *redisCall) *look {
	return &look{call: c, left: c.replies, commands: lookCommands(c.touched)}
}

// readsFields and readsWhole map the type of a key to the command that reads its fields, and the one that
// reads all of it. An empty argument stands for the key.
var (
	readsFields = map[string]string{"hash": "HMGET", "zset": "ZMSCORE", "set": "SMISMEMBER"}
	readsWhole  = map[string][]string{
		"string": {"GET", ""}, "hash": {"HGETALL", ""}, "zset": {"ZRANGE", "", "0", "-1", "WITHSCORES"}, "list": {"LRANGE", "", "0", "-1"},
		"set": {"SMEMBERS", ""}, "stream": {"EVAL", readStream, "1", ""},
	}
)

//go:embed redis_stream.lua
var readStream string

// readWhole returns the command that reads a whole key of a type; for an unknown type, the command for
// strings.
func readWhole(key, kind string) []string {
	command := slices.Clone(readsWhole[kind])
	if command == nil { // including "none"
		command = []string{"GET", ""}
	}
	command[slices.Index(command, "")] = key
	return command
}

// mayExpire says whether a whole key may have a TTL.
func (t *touch) mayExpire() bool { return !t.removes && (t.givesTTL || t.hadTTL) }

// lookCommands lists the commands of a look. For fields of a key there is one. For a whole key there is one
// that reads it as the type that it was last seen to have and, if the key may have a TTL, one that asks when
// it expires. A script that asked for the type first would take ten times as long.
func lookCommands(at []touch) [][]string {
	commands := make([][]string, 0, 2*len(at))
	for group := range groups(at) {
		key := group[0].key
		if group[0].whole {
			if commands = append(commands, readWhole(key, group[0].kind)); group[0].mayExpire() {
				commands = append(commands, []string{"PEXPIRETIME", key})
			}
			continue
		}
		command := append(make([]string, 0, 2+len(group)), readsFields[group[0].kind], key)
		for _, t := range group {
			command = append(command, t.field)
		}
		commands = append(commands, command)
	}
	return commands
}

// groups yields whole keys one by one, and neighbouring fields of one key together.
func groups(at []touch) iter.Seq[[]touch] {
	return func(yield func([]touch) bool) {
		for len(at) > 0 {
			n := 1
			for !at[0].whole && n < len(at) && !at[n].whole && at[n].key == at[0].key && at[n].kind == at[0].kind {
				n++
			}
			if !yield(at[:n]) {
				return
			}
			at = at[n:]
		}
	}
}

func (r *realRedis) look(c *redisCall, seen []sight) []sight {
	clear(r.due)
	if len(c.touched) == 0 {
		return seen
	}
	var answers []any
	if c.look != nil {
		answers = c.look.answers
	}
	if answers == nil { // none was sent after the call
		r.learnTypes(c.touched)
		answers = r.ask(lookCommands(c.touched))
	}
	for group := range groups(c.touched) {
		if !group[0].whole {
			seen = appendFields(seen, group, answers[0])
			answers = answers[1:]
			continue
		}
		seen = append(seen, r.wholeOf(group[0], answers[0]))
		if answers = answers[1:]; group[0].mayExpire() {
			due, _ := answers[0].(int64) // or -1, or -2 if there is no such key
			r.due[group[0].key] = time.Duration(max(0, due-epoch))
			answers = answers[1:]
		}
	}
	return seen
}

// learnTypes asks for the types of whole keys if none of them is known.
func (r *realRedis) learnTypes(at []touch) {
	var (
		unknown  []*touch
		commands [][]string
	)
	for i := range at {
		if t := &at[i]; t.whole && t.kind == "" {
			unknown, commands = append(unknown, t), append(commands, []string{"TYPE", t.key})
		}
	}
	for i, answer := range r.ask(commands) {
		unknown[i].kind, _ = answer.(string)
	}
}

// ask makes the server answer commands outside any operation. It ends the run if the server is gone.
func (r *realRedis) ask(commands [][]string) (answers []any) {
	if len(commands) == 0 {
		return nil
	}
	cmds, _ := r.client.Pipelined(bg, func(p redis.Pipeliner) error {
		for _, command := range commands {
			args := make([]any, len(command))
			for i, arg := range command {
				args[i] = arg
			}
			p.Do(bg, args...)
		}
		return nil
	})
	for _, cmd := range cmds {
		answer, err := cmd.(*redis.Cmd).Result()
		var refused redis.Error
		if errors.As(err, &refused) && !errors.Is(err, redis.Nil) {
			answer, err = replyError(err.Error()), nil
		}
		answers = append(answers, must(answer, err))
	}
	return answers
}

// wholeOf returns the content of a key. answer is the server's to the command that reads the type that the
// key was last seen to have. If that is an error, wholeOf asks for the type and reads the key again.
func (r *realRedis) wholeOf(t touch, answer any) (s sight) {
	kind := cmp.Or(t.kind, "string")
	if _, refused := answer.(replyError); refused {
		kind = r.ask([][]string{{"TYPE", t.key}})[0].(string)
		answer = r.ask([][]string{readWhole(t.key, kind)})[0]
	}
	switch answer := answer.(type) {
	case string:
		s.holds, s.kind, s.fields = true, kind, map[string]string{"": answer}
	case []any:
		if len(answer) > 0 {
			s.holds, s.kind, s.fields = true, kind, fieldsOf(kind, answer)
		}
	}
	return s
}

// appendFields appends the server's answer on fields of one key. The answer is an error if the key is of
// another type.
func appendFields(seen []sight, fields []touch, answer any) []sight {
	items, _ := answer.([]any)
	for i, t := range fields {
		s := sight{}
		s.kind = t.kind
		if items == nil {
			s.kind = "of another type"
		} else {
			switch text := items[i].(type) {
			case string:
				s.holds, s.text = true, textOf(t.kind, text)
			case int64: // for a set: whether it is a member
				s.holds = text == 1
			}
		}
		seen = append(seen, s)
	}
	return seen
}

// textOf returns a field's text as it is in the trace.
func textOf(kind, text string) string {
	if kind != "zset" {
		return text
	}
	score, _ := strconv.ParseFloat(text, 64) // the server wrote it
	return formatScore(score)
}

// fieldsOf flattens the server's answer on a whole key.
func fieldsOf(kind string, items []any) map[string]string {
	fields := make(map[string]string, len(items))
	switch kind {
	case "list":
		for i, item := range items {
			fields[strconv.Itoa(i)] = item.(string)
		}
	case "set":
		for _, item := range items {
			fields[item.(string)] = ""
		}
	case "stream":
		for _, item := range items {
			switch item := item.(type) {
			case []any: // an entry: its ID, then names and values in turn
				fields[item[0].(string)] = entryText(item[1].([]any))
			case string:
				fields[lastID] = item
			}
		}
	default:
		for pair := range slices.Chunk(items, 2) {
			fields[pair[0].(string)] = textOf(kind, pair[1].(string))
		}
	}
	return fields
}
