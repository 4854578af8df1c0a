package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// needs leaves the test out where a program is missing.
func needs(t *testing.T, programs ...string) {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s", program)
		}
	}
}

// aHub is a GitHub with issues and pull requests, and a repository.
type aHub struct {
	t   *testing.T
	dir string // where gh keeps what it is told
	bin string // where gh is
}

// issue is one that gh was told of.
type issue struct {
	Title, Body, State string
	Comments           []struct{ Body string }
}

// gh keeps issues and pull requests in files, and takes what the night gives it. As GitHub's own it asks for a token.
const gh = `#!/bin/bash
set -e
[ -n "$GH_TOKEN" ] || { echo no token >&2; exit 4; }
cd "$HUB"
echo "$@" >> log
if [ -e fails ] && [[ "$*" =~ $(cat fails) ]]; then echo unreachable >&2; exit 1; fi
if [ -e hook ]; then bash ./hook "$@"; fi
last=${!#}
body() { local file=$last; [[ $file = /* ]] || file=$OLDPWD/$file; cat "$file"; }
edit() { jq "$@" issues > new; mv new issues; }
case "$1 $2" in
  "issue list") jq -r "$last" issues ;;
  "issue view") jq -r --argjson n "$3" '.[$n-1]' issues | jq -r "$last" ;;
  "issue create") edit --arg title "$4" --arg body "$(body)" '. + [{number: (length+1), title: $title, body: $body, state: "open", comments: []}]' ;;
  "issue comment") edit --argjson n "$3" --arg body "$(body)" '.[$n-1].comments += [{body: $body}]' ;;
  "issue reopen") edit --argjson n "$3" '.[$n-1].state = "open"' ;;
  "issue close") edit --argjson n "$3" '.[$n-1].state = "closed"' ;;
  "pr list") jq -r "$last" prs ;;
  "pr create") shift 2; echo "[\"$*\"]" > prs ;;
  "auth setup-git"|"label create") ;;
  *) echo "gh $*?" >&2; exit 1 ;;
esac
`

func newHub(t *testing.T) *aHub {
	needs(t, "bash", "git", "jq")
	h := &aHub{t, t.TempDir(), t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(h.bin, "gh"), []byte(gh), 0o755))
	h.write("issues", "[]")
	h.write("prs", "[]")
	h.git(h.dir, "init", "-q", "--bare", "origin")
	h.git(h.dir, "clone", "-q", "origin", "main")
	h.git(filepath.Join(h.dir, "main"), "commit", "-q", "--allow-empty", "-m", "main")
	h.git(filepath.Join(h.dir, "main"), "push", "-q", "origin", "HEAD:main")
	return h
}

func (h *aHub) write(name, text string) {
	require.NoError(h.t, os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o644))
}

func (h *aHub) git(in string, args ...string) string {
	cmd := exec.Command("git", append([]string{"-C", in, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(h.t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// clone is a checkout of main, as a night has it.
func (h *aHub) clone() string {
	dir := filepath.Join(h.t.TempDir(), "clone")
	h.git(h.dir, "clone", "-q", "-b", "main", "origin", dir)
	return dir
}

// has is what the ledger's branch has at a path.
func (h *aHub) has(path string) string {
	return h.git(filepath.Join(h.dir, "origin"), "show", "ledger:scenarios/ledger/"+path)
}

// told is what gh was told to do, and takes it away: what it was asked is left out.
func (h *aHub) told() (list []string) {
	log, err := os.ReadFile(filepath.Join(h.dir, "log"))
	require.NoError(h.t, err)
	require.NoError(h.t, os.Remove(filepath.Join(h.dir, "log")))
	for line := range strings.Lines(string(log)) {
		if line = strings.TrimSpace(line); !regexp.MustCompile(`^(issue|pr) (list|view) |^auth setup-git$|^label create finding `).MatchString(line) {
			list = append(list, line)
		}
	}
	return list
}

func (h *aHub) issues() (list []issue) {
	data, err := os.ReadFile(filepath.Join(h.dir, "issues"))
	require.NoError(h.t, err)
	require.NoError(h.t, json.Unmarshal(data, &list))
	return list
}

var (
	outcomeOf = regexp.MustCompile(`^steps\.(\w+)\.outcome == 'success'$`)
	outputOf  = regexp.MustCompile(`\$\{\{ steps\.(\w+)\.outputs\.(\w+) \}\}`)
)

// night runs the steps of a night's last job in dir, as GitHub does, or those that are named, and returns the names of those that
// failed. What triages is done by triaged, if it is given.
func (h *aHub) night(dir string, triaged func(), env ...string) (failed []string) {
	outcomes, outputs, isMain := map[string]bool{}, map[string]string{}, true
	for _, e := range env {
		isMain = isMain && e != "MAIN=false"
	}
	for _, s := range readWorkflow(h.t, "nightly.yml").Jobs["night"].Steps {
		if s.Run == "" || triaged != nil && (s.ID == "" && s.If == "" || s.Env["STATUS"] != "") {
			continue
		}
		runs := true
		for condition := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(s.If, "${{ "), " }}"), " && ") {
			switch m := outcomeOf.FindStringSubmatch(condition); {
			case m != nil:
				runs = runs && outcomes[m[1]]
			case condition == "env.MAIN == 'true'":
				runs = runs && isMain
			case condition == "!cancelled()":
			default:
				require.Empty(h.t, condition)
				runs = runs && len(failed) == 0
			}
		}
		if !runs {
			continue
		}
		if s.ID == "triage" && triaged != nil {
			triaged()
			outcomes[s.ID] = true
			continue
		}
		with := append(os.Environ(), append(env, "HUB="+h.dir, "PATH="+h.bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+h.dir)...)
		for key, value := range s.Env {
			value = outputOf.ReplaceAllStringFunc(value, func(text string) string {
				m := outputOf.FindStringSubmatch(text)
				return outputs[m[1]+"."+m[2]]
			})
			with = append(with, key+"="+value)
		}
		output := filepath.Join(h.t.TempDir(), "output")
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		cmd.Dir, cmd.Env = dir, append(with, "GITHUB_OUTPUT="+output, "GITHUB_STEP_SUMMARY="+filepath.Join(h.dir, "summary"))
		said, err := cmd.CombinedOutput()
		h.t.Logf("%s: %v\n%s", s.Name, err, said)
		outcomes[s.ID] = err == nil
		if err != nil {
			failed = append(failed, s.Name)
		}
		wrote, _ := os.ReadFile(output)
		for line := range strings.Lines(string(wrote)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			outputs[s.ID+"."+key] = value
		}
	}
	return failed
}

const (
	ledgerStep  = "the ledger as the last night left it"
	mergeStep   = "one campaign of the shards (5 min)"
	newStep     = "what is new fails the night"
	issuesStep  = "issues"
	requestStep = "a pull request of the ledger's changes"
)

// A new finding has an issue, once; what is back or gone is said where its issue is, once a night, in however many tries.
func TestTheNightTellsGitHub(t *testing.T) {
	h := newHub(t)
	h.write("issues", `[{"number": 1, "title": "known-22222222: x", "state": "open", "body": "", "comments": []}, {"number": 2, "title": "b-33333333: y", "state": "closed", "body": "", "comments": []},
		{"number": 3, "title": "c-44444444: z", "state": "open", "body": "", "comments": [{"body": "Gone.\n\n<!-- night 6 -->"}]}, {"number": 4, "title": "c-4444: another", "state": "open", "body": "", "comments": []}]`)
	triaged := func(dir string) func() {
		return func() {
			for name, text := range map[string]string{
				"new/a-11111111.md": "# a-11111111: late publish, \"$(date)\"\n\nHow a breaks.\n", "new/known-22222222.md": "# known-22222222: x\n\nText.\n",
				"back/b-33333333.md": "# b-33333333: y\n\nIt is back.\n", "back/lost-66666666.md": "# lost-66666666: y\n\nIt is back, too.\n",
				"resolved/c-44444444.md": "# c-44444444: z\n\nGone.\n", "resolved/never-55555555.md": "# never-55555555: z\n\nGone.\n",
			} {
				require.NoError(t, os.MkdirAll(filepath.Join(dir, "issues", filepath.Dir(name)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, "issues", name), []byte(text), 0o644))
			}
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "scenarios/ledger"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "scenarios/ledger/nights.jsonl"), []byte("{}\n"), 0o644))
		}
	}
	dir := h.clone()
	h.write("fails", "^issue close")
	assert.Equal(t, []string{issuesStep}, h.night(dir, triaged(dir), "GITHUB_RUN_ID=7", "GITHUB_RUN_NUMBER=1", "GITHUB_REF_NAME=main"), "the ledger does not take what has no issue yet")
	assert.Equal(t, []string{
		`issue create --title a-11111111: late publish, "$(date)" --label finding --body-file body.md`,
		"issue reopen 2", "issue comment 2 --body-file body.md",
		"issue create --title lost-66666666: y --label finding --body-file body.md",
		"issue comment 3 --body-file body.md", "issue close 3",
	}, h.told())
	require.NoError(t, os.Remove(filepath.Join(h.dir, "fails")))
	dir = h.clone()
	assert.Empty(t, h.night(dir, triaged(dir), "GITHUB_RUN_ID=7", "GITHUB_RUN_NUMBER=1", "GITHUB_REF_NAME=main"))
	assert.Equal(t, []string{"issue reopen 2", "issue reopen 6", "issue close 3"}, h.told()[:3])
	list := h.issues()
	require.Len(t, list, 6)
	assert.Equal(t, "How a breaks.\n\n<!-- night 7 -->", list[4].Body)
	assert.Equal(t, "closed", list[2].State)
	require.Len(t, list[2].Comments, 2, "another night has said so before, and this one once")
	assert.Equal(t, "Gone.\n\n<!-- night 7 -->", list[2].Comments[1].Body)
	assert.Len(t, list[1].Comments, 1)
}

// The ledger's changes come as one pull request, to which each night adds until it is merged. No night throws away what it has not read.
func TestTheNightProposesTheLedger(t *testing.T) {
	h := newHub(t)
	night := func(name, finds string, env ...string) []string {
		dir := h.clone()
		return h.night(dir, func() {
			ledger := filepath.Join(dir, "scenarios/ledger")
			require.NoError(t, os.MkdirAll(filepath.Join(ledger, "findings"), 0o755))
			if finds != "" {
				require.NoError(t, os.WriteFile(filepath.Join(ledger, "findings", finds+".yaml"), nil, 0o644))
			}
			f, err := os.OpenFile(filepath.Join(ledger, "nights.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			require.NoError(t, err)
			_, _ = fmt.Fprintln(f, name)
			require.NoError(t, f.Close())
		}, append(env, "GITHUB_RUN_ID=7", "GITHUB_RUN_NUMBER=7", "GITHUB_REF_NAME=main")...)
	}
	assert.Empty(t, night("first", ""))
	require.Len(t, h.told(), 1)
	assert.Empty(t, night("second", "b"))
	assert.Empty(t, night("third", "c"))
	assert.Empty(t, h.told(), "the request is open")
	all := "first\nsecond\nthird"
	assert.Equal(t, all, h.has("nights.jsonl"))
	assert.Equal(t, "b.yaml\nc.yaml", h.git(filepath.Join(h.dir, "origin"), "ls-tree", "--name-only", "ledger:scenarios/ledger/findings"))
	assert.Equal(t, "1", h.git(filepath.Join(h.dir, "origin"), "rev-list", "--count", "main..ledger"))

	h.write("fails", "^pr list")
	assert.Equal(t, []string{ledgerStep}, night("fourth", ""), "nobody knows whether there is a request")
	require.NoError(t, os.Remove(filepath.Join(h.dir, "fails")))
	assert.Empty(t, night("fifth", "", "MAIN=false"), "that of a branch")
	assert.Equal(t, all, h.has("nights.jsonl"))

	h.write("hook", `if [ "$1" = label ]; then cd main && git fetch -q && git switch -q -C mine origin/ledger && git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m mine && git push -q origin mine:ledger; fi`)
	assert.Equal(t, []string{requestStep}, night("sixth", ""), "somebody was faster")
	assert.Equal(t, "mine", h.git(filepath.Join(h.dir, "origin"), "log", "-1", "--format=%s", "ledger"))
	require.NoError(t, os.Remove(filepath.Join(h.dir, "hook")))

	h.write("prs", "[]") // merged, and its branch is still there
	h.git(filepath.Join(h.dir, "origin"), "update-ref", "refs/heads/main", "ledger")
	assert.Empty(t, night("seventh", ""))
	assert.Equal(t, all+"\nseventh", h.has("nights.jsonl"))
	assert.Contains(t, strings.Join(h.told(), "\n"), "pr create --head ledger --base main --title The ledger after the last nights")
}

// A night from the folders of its shards to the ledger: a new finding fails it once, and a shard that is missing keeps the others
// from nobody.
func TestANight(t *testing.T) {
	h := newHub(t)
	h.write("wavetank", "#!/bin/sh\n[ -z \"$GH_TOKEN\" ] || exit 99\nexec wavetank \"$@\"\n")
	require.NoError(t, os.Chmod(filepath.Join(h.dir, "wavetank"), 0o755))
	shards := filepath.Join(t.TempDir(), "shards")
	for k := 1; k <= 2; k++ {
		out, err := exec.Command("wavetank", "fuzz", "publish-ack-lost", "--budget", "4runs", "--seed", "1", "--judge", "one-dispatch-per-job", "--shard", fmt.Sprintf("%d/2", k), "--out", filepath.Join(shards, fmt.Sprintf("shard-%d", k)), "-q").CombinedOutput()
		if err != nil {
			require.ErrorContains(t, err, "exit status 1", "%s", out)
		}
	}
	night := func(without string) []string {
		dir := h.clone()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "bin"), 0o755))
		require.NoError(t, os.Symlink(filepath.Join(h.dir, "wavetank"), filepath.Join(dir, "bin", "wavetank")))
		require.NoError(t, os.CopyFS(filepath.Join(dir, "shards"), os.DirFS(shards)))
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "shards", without)))
		sha := h.git(dir, "rev-parse", "HEAD")
		return h.night(dir, nil, "GITHUB_SHA="+sha, "GITHUB_RUN_ID=7", "GITHUB_RUN_NUMBER=7", "GITHUB_REF_NAME=main", "GITHUB_SERVER_URL=https://github.example", "GITHUB_REPOSITORY=a/b")
	}
	assert.Equal(t, []string{newStep}, night("nothing"))
	opened := h.issues()
	require.NotEmpty(t, opened)
	assert.Regexp(t, `^one-dispatch-per-job-[0-9a-f]{8}: `, opened[0].Title)
	assert.Contains(t, opened[0].Body, "among [the night's files](https://github.example/a/b/actions/runs/7#artifacts)")
	assert.Contains(t, h.has("nights.jsonl"), `"plans":4,`)
	assert.Equal(t, []string{newStep}, night("nothing"), "the same once more")
	assert.Len(t, h.issues(), len(opened))
	assert.Len(t, strings.Split(h.has("nights.jsonl"), "\n"), 1)
	assert.Contains(t, night("shard-2"), mergeStep)
	assert.Len(t, h.issues(), len(opened))
	assert.Contains(t, h.has("nights.jsonl"), `"plans":2,`)
}
