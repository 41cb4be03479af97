package unguided

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"testing"
	"time"
)

var (
	each = flag.Int("unguided", 0, "mutations of each seed of a fuzz target, without coverage")
	salt = flag.Uint64("salt", 0, "other mutations of the same seeds")
)

// longest is how long one execution may take: as long as go test -fuzz waits for one.
const longest = 10 * time.Second

// Fuzz is f.Fuzz(target), a function of a *testing.T and arguments as f.Fuzz takes them. With
// -unguided N each seed has N mutations beside itself, and the log has their number.
func Fuzz(f *testing.F, target any) {
	f.Helper()
	if n := *each; n > 0 {
		s := &seeds{target: reflect.ValueOf(target), name: f.Name(), n: n, salt: *salt, corpus: filepath.Join("testdata", "fuzz", f.Name())}
		f.Cleanup(func() { f.Logf("%d executions", s.executions) })
		f.Fuzz(reflect.MakeFunc(s.target.Type(), s.run).Interface())
		return
	}
	f.Fuzz(target)
}

// seeds are the inputs of one target as they come by.
type seeds struct {
	target     reflect.Value
	name       string
	n          int
	salt       uint64
	corpus     string // where an input that fails is written
	seen       [][]any
	executions int
}

// maxSeen is how many seeds are kept to be spliced.
const maxSeen = 256

// run is the target in another form: it runs a seed, and then its mutations.
func (s *seeds) run(args []reflect.Value) []reflect.Value {
	t := args[0].Interface().(*testing.T)
	s.execute(t, args)
	seed := make([]any, len(args)-1)
	for i := range seed {
		seed[i] = args[1+i].Interface()
	}
	if len(s.seen) < maxSeen {
		s.seen = append(s.seen, seed)
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\n%s", s.name, encode(seed))
	m := mutator{Rand: rand.New(rand.NewPCG(h.Sum64(), s.salt))}
	mutated := make([]reflect.Value, len(args))
	mutated[0] = args[0]
	for range s.n {
		other := s.seen[m.IntN(len(s.seen))]
		for i, v := range m.mutate(seed, other) {
			mutated[1+i] = reflect.ValueOf(v)
		}
		s.execute(t, mutated)
	}
	return nil
}

// execute runs the target once. What fails is written, and ends the run of its seed.
func (s *seeds) execute(t *testing.T, args []reflect.Value) {
	var over atomic.Bool
	late := time.AfterFunc(longest, func() {
		if !over.Load() {
			panic(fmt.Sprintf("an execution took more than %v: %s", longest, s.write(args[1:])))
		}
	})
	returned := false
	defer func() {
		over.Store(true)
		late.Stop()
		if !returned && !t.Skipped() {
			t.Logf("the input: %s", s.write(args[1:]))
		}
	}()
	s.executions++
	s.target.Call(args)
	returned = true
	if t.Failed() {
		t.Fatalf("the input: %s", s.write(args[1:]))
	}
}

// write puts an input into the target's corpus, and gives its file.
func (s *seeds) write(args []reflect.Value) string {
	values := make([]any, len(args))
	for i := range values {
		values[i] = args[i].Interface()
	}
	b := encode(values)
	h := fnv.New64a()
	h.Write(b)
	name := filepath.Join(s.corpus, fmt.Sprintf("%016x", h.Sum64()))
	if err := os.MkdirAll(s.corpus, 0o777); err != nil {
		return err.Error()
	}
	if err := os.WriteFile(name, b, 0o666); err != nil {
		return err.Error()
	}
	return name
}
