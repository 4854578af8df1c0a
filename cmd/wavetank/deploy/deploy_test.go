// Package deploy holds what runs wavetank on Kubernetes; see README.md. Its tests have a package of their own, since the types of
// Kubernetes take long to compile.
package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// manifests decodes every document of the folder into the type of its kind, strictly: what Kubernetes does not know is an error.
func manifests(t *testing.T) map[string][]any {
	files, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	all := map[string][]any{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		for document := range strings.SplitSeq(string(data), "\n---\n") {
			var head struct{ APIVersion, Kind string }
			require.NoError(t, yaml.Unmarshal([]byte(document), &head))
			types := map[string]any{
				"v1 PersistentVolumeClaim": &corev1.PersistentVolumeClaim{}, "batch/v1 Job": &batchv1.Job{}, "apps/v1 Deployment": &appsv1.Deployment{},
			}
			object := types[head.APIVersion+" "+head.Kind]
			require.NotNil(t, object, "%s has a %s of %s", name, head.Kind, head.APIVersion)
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), object), name)
			all[filepath.Base(name)] = append(all[filepath.Base(name)], object)
		}
	}
	return all
}

func templateOf(object any) *corev1.PodTemplateSpec {
	switch o := object.(type) {
	case *batchv1.Job:
		return &o.Spec.Template
	case *appsv1.Deployment:
		return &o.Spec.Template
	}
	return nil
}

// What the manifests start is a command that there is, with flags that it takes; what they mount is there, and can be written
// where the program writes.
func TestTheManifestsDecodeStrictly(t *testing.T) {
	program := filepath.Join(t.TempDir(), "wavetank")
	built, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "..").CombinedOutput()
	require.NoError(t, err, "%s", built)
	expanded := strings.NewReplacer("$(CPUS)", "4", "$(JOB_COMPLETION_INDEX)", "0")
	pods := 0
	for name, objects := range manifests(t) {
		for _, object := range objects {
			template := templateOf(object)
			if template == nil {
				continue
			}
			pods++
			require.Len(t, template.Spec.Containers, 1, name)
			c := template.Spec.Containers[0]
			var args []string
			for _, arg := range c.Args {
				args = append(args, expanded.Replace(arg))
			}
			said, err := exec.Command(program, append(args, "--help")...).CombinedOutput() // once it has read all other flags
			require.NoError(t, err, "%s: %s\n%s", name, args, said)
			assert.NotContains(t, strings.Join(args, " "), "$(", "%s: what else is to be expanded", name)

			volumes := map[string]bool{}
			for _, v := range template.Spec.Volumes {
				volumes[v.Name] = true
			}
			var writable []string
			for _, m := range c.VolumeMounts {
				assert.True(t, volumes[m.Name], "%s: the volume %s", name, m.Name)
				if !m.ReadOnly {
					writable = append(writable, m.MountPath)
				}
			}
			assert.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, name)
			assert.Contains(t, writable, "/tmp", name)
			for _, arg := range args {
				if out, is := strings.CutPrefix(arg, "--out="); is {
					assert.True(t, slices.ContainsFunc(writable, func(dir string) bool { return strings.HasPrefix(out, dir+"/") }), "%s: %s", name, out)
				}
			}
		}
	}
	assert.Equal(t, 4, pods)
}

// As many shards are started as the campaign has, each is told which it is, and the merge has the folders of all.
func TestTheManifestsAgreeOnTheShards(t *testing.T) {
	all := manifests(t)
	shards := all["shards.yaml"][1].(*batchv1.Job)
	merge := all["merge.yaml"][0].(*batchv1.Job)
	require.Equal(t, batchv1.IndexedCompletion, *shards.Spec.CompletionMode)
	n := int(*shards.Spec.Completions)
	args := shards.Spec.Template.Spec.Containers[0].Args
	assert.Contains(t, args, fmt.Sprintf("--shard=index/%d", n))
	assert.Contains(t, args, "--out=/runs/shard-$(JOB_COMPLETION_INDEX)")
	for i := range n {
		assert.Contains(t, merge.Spec.Template.Spec.Containers[0].Args, fmt.Sprintf("/runs/shard-%d", i))
	}
	assert.Equal(t, n+3, len(merge.Spec.Template.Spec.Containers[0].Args), "and no other")
}

// A pod is started anew, and goes on where it was, unless what it ended with says what came of the campaign: a promise that was
// broken, runs that are missing to merge, a plan that is not deterministic. A server that is away and a full volume end it with 2.
func TestAJobEndsOnlyWithWhatCameOfIt(t *testing.T) {
	ends := map[string][]int32{}
	for name, objects := range manifests(t) {
		for _, object := range objects {
			job, is := object.(*batchv1.Job)
			if !is {
				continue
			}
			tries := job.Spec.BackoffLimit
			if job.Spec.CompletionMode != nil {
				tries = job.Spec.BackoffLimitPerIndex
			}
			require.NotNil(t, tries, name)
			assert.Equal(t, int32(10), *tries, "%s: the waits between them add up to half an hour", name)
			rules := job.Spec.PodFailurePolicy.Rules
			require.Len(t, rules, 2, name)
			assert.Equal(t, batchv1.PodFailurePolicyActionIgnore, rules[0].Action, "%s: a node that is drained", name)
			require.Equal(t, batchv1.PodFailurePolicyOnExitCodesOpIn, rules[1].OnExitCodes.Operator, name)
			ends[name] = rules[1].OnExitCodes.Values
		}
	}
	assert.Equal(t, map[string][]int32{"shards.yaml": {1, 4}, "queue.yaml": {1, 4}, "merge.yaml": {1, 3, 4}}, ends)
}

// The image is built by the version of Go that the module asks for.
func TestTheImageIsBuiltByTheModulesGo(t *testing.T) {
	module, err := os.ReadFile("../../../go.mod")
	require.NoError(t, err)
	file, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(module)[1]
	assert.Contains(t, string(file), "FROM golang:"+string(version)+" AS build\n")
}
