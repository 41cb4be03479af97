package cache_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anesim/internal/cache"
)

func key() *cache.Key {
	return &cache.Key{
		Segments: []cache.Segment{{Structure: cache.Sum([]byte("s")), Weights: cache.Sum([]byte("w"))}},
		Source:   "file:///net.yaml", Options: "seed=1", Platform: "h13",
	}
}

func none(t *testing.T) func() ([]byte, error) {
	return func() ([]byte, error) { t.Error("made"); return nil, nil }
}

// The hash is a SHA-256 of a SHA-256, worked out apart.
func TestDoubleSHA256(t *testing.T) {
	once := sha256.Sum256([]byte("hello"))
	twice := sha256.Sum256(once[:])
	if got := cache.Sum([]byte("hello")); got != cache.Hash(twice) {
		t.Errorf("%v", got)
	}
	// echo -n hello | sha256sum | xxd -r -p | sha256sum
	if got := cache.Sum([]byte("hello")).String(); got != "9595c9df90075148eb06860365df33584b75bff782a510c6cd4883a419833d50" {
		t.Errorf("%v", got)
	}
	h := cache.NewHasher()
	fmt.Fprint(h, "hel", "lo")
	if h.Sum() != cache.Sum([]byte("hello")) {
		t.Error("written in parts it differs")
	}
}

// Any part of the key changes the identifier, and no two parts run into each other.
func TestKey(t *testing.T) {
	seen := map[cache.Hash]string{}
	add := func(what string, set func(*cache.Key)) {
		k := key()
		set(k)
		if other, ok := seen[k.Identifier()]; ok {
			t.Errorf("%s has the identifier of %s", what, other)
		}
		seen[k.Identifier()] = what
	}
	add("the key", func(*cache.Key) {})
	add("structure", func(k *cache.Key) { k.Segments[0].Structure[31]++ })
	add("weights", func(k *cache.Key) { k.Segments[0].Weights[0]++ })
	add("structure and weights swapped", func(k *cache.Key) {
		s := &k.Segments[0]
		s.Structure, s.Weights = s.Weights, s.Structure
	})
	add("another segment", func(k *cache.Key) { k.Segments = append(k.Segments, k.Segments[0]) })
	add("no segment", func(k *cache.Key) { k.Segments = nil })
	add("source", func(k *cache.Key) { k.Source += "x" })
	add("options", func(k *cache.Key) { k.Options += "x" })
	add("platform", func(k *cache.Key) { k.Platform += "x" })
	add("a letter that moves", func(k *cache.Key) { k.Source, k.Options = k.Source+"s", k.Options[1:] })
	if again, k := key(), key(); again.Identifier() != k.Identifier() {
		t.Error("equal keys differ")
	}
}

func TestFetchAndMake(t *testing.T) {
	c := &cache.Cache{Dir: filepath.Join(t.TempDir(), "new", "er"), Build: "b1"}
	content := []byte("programs")
	var got []byte
	use := func(b []byte) error { got = bytes.Clone(b); return nil }
	made := 0
	make := func() ([]byte, error) { made++; return content, nil }
	do := func(want cache.Outcome) cache.Entry {
		t.Helper()
		got = nil
		e, err := c.Do(key(), use, make)
		if err != nil || e.Outcome != want || !bytes.Equal(got, content) {
			t.Errorf("%v (%s), %q, %v; want %v", e.Outcome, e.Why, got, err, want)
		}
		return e
	}
	c.Mode = cache.ForceFetch
	var miss *cache.MissError
	if _, err := c.Do(key(), use, make); !errors.As(err, &miss) || made != 0 {
		t.Errorf("a forced fetch of nothing: %v", err)
	}
	c.Mode = cache.FetchOrMake
	e := do(cache.Made)
	if want := filepath.Join(c.Dir, "com.apple.e5rt.e5bundlecache", "b1", key().Identifier().String(), "model.bundle"); e.Path != want {
		t.Errorf("%s, want %s", e.Path, want)
	}
	file, err := os.ReadFile(e.Path)
	if err != nil || len(file) != e.Bytes {
		t.Fatalf("%d bytes, %v", len(file), err)
	}
	if n := len(file) - 32; cache.Sum(file[:n]) != cache.Hash(file[n:]) || cache.Hash(file[n:]) != e.Hash {
		t.Error("the entry does not end with its hash")
	}
	f := do(cache.Fetched)
	if f.Hash != e.Hash || f.Bytes != e.Bytes || made != 1 {
		t.Errorf("%+v, %d made", f, made)
	}
	c.Mode = cache.ForceFetch
	do(cache.Fetched)
	c.Mode = cache.ForceRecompilation
	do(cache.Made)
	c.Mode = cache.FetchOrMake
	c.Build = "b2"
	do(cache.Made) // another build has its own
	if made != 3 {
		t.Errorf("%d made", made)
	}
	fail := errors.New("no")
	c.Build = "b3"
	if _, err := c.Do(key(), use, func() ([]byte, error) { return nil, fail }); !errors.Is(err, fail) {
		t.Error(err)
	}
	if _, err := os.Stat(c.Path(key())); err == nil {
		t.Error("what could not be made is kept")
	}
}

// Every byte of an entry that is not what it was, and every length, is found; the entry is
// made again, or, of a forced fetch, refused.
func TestDamage(t *testing.T) {
	c := &cache.Cache{Dir: t.TempDir(), Build: "b"}
	content := []byte("programs of a network")
	use := func(b []byte) error {
		if !bytes.Equal(b, content) {
			t.Errorf("%q", b)
		}
		return nil
	}
	make := func() ([]byte, error) { return content, nil }
	e, err := c.Do(key(), use, make)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(e.Path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		c.Mode = cache.ForceFetch
		var miss *cache.MissError
		if _, err := c.Do(key(), use, none(t)); !errors.As(err, &miss) || miss.Why == "" {
			t.Errorf("%s: a forced fetch: %v", what, err)
		}
		c.Mode = cache.FetchOrMake
		got, err := c.Do(key(), use, make)
		if err != nil || got.Outcome != cache.Remade || got.Why == "" {
			t.Errorf("%s: %v, %v", what, got.Outcome, err)
		}
		if b, _ := os.ReadFile(e.Path); !bytes.Equal(b, whole) {
			t.Errorf("%s: the entry was not put right", what)
		}
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 0x10
		try(fmt.Sprintf("byte %d", i), b)
	}
	for n := range whole {
		try(fmt.Sprintf("%d bytes", n), whole[:n])
	}
	try("a byte more", append(bytes.Clone(whole), 0))
	// A whole entry of another key in this one's place.
	k := key()
	k.Source = "another"
	other, err := c.Do(k, use, make)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(other.Path)
	if err != nil {
		t.Fatal(err)
	}
	try("another key's", b)
	// A content that its user refuses is damaged too.
	refuse := true
	got, err := c.Do(key(), func([]byte) error {
		if refuse {
			refuse = false
			return errors.New("not a program")
		}
		return nil
	}, make)
	if err != nil || got.Outcome != cache.Remade || got.Why != "not a program" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestUnusableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	c := &cache.Cache{Dir: file, Build: "b"}
	var e *cache.Error
	entry, err := c.Do(key(), func([]byte) error { return nil }, func() ([]byte, error) { return nil, nil })
	if err != nil || !errors.As(entry.Unkept, &e) {
		t.Errorf("%v, %v", err, entry.Unkept)
	}
}

// Files in the making that a process left are removed, those of a live one are not.
func TestSweep(t *testing.T) {
	c := &cache.Cache{Dir: t.TempDir(), Build: "b", Mode: cache.ForceRecompilation}
	dir := filepath.Dir(c.Path(key()))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	old, young := filepath.Join(dir, ".model.bundle.1-0"), filepath.Join(dir, ".model.bundle.2-0")
	for _, name := range []string{old, young} {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(key(), func([]byte) error { return nil }, func() ([]byte, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 2 || list[0].Name() != filepath.Base(young) {
		t.Errorf("%v, %v", list, err)
	}
}

// big is a content of some size that is a round's own.
func big(round int) []byte {
	b := make([]byte, 1<<20)
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], uint64(i)*uint64(round+1))
	}
	return b
}

// Processes of one cache: what any of them uses is whole, whether it fetched it, made it,
// or found it damaged; one that is killed on the way leaves nothing that others find.
func TestProcesses(t *testing.T) {
	if dir := os.Getenv("ANESIM_CACHE_TEST"); dir != "" {
		process(t, dir)
		return
	}
	dir := t.TempDir()
	const processes = 8
	var all []*exec.Cmd
	var outs []*bytes.Buffer
	start := func(kind string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestProcesses$", "-test.v")
		cmd.Env = append(os.Environ(), "ANESIM_CACHE_TEST="+dir, "ANESIM_CACHE_KIND="+kind)
		out := &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		outs = append(outs, out)
		return cmd
	}
	for i := range processes {
		all = append(all, start([]string{"fetch", "force", "damage", "fetch"}[i%4]))
	}
	killed := start("force")
	time.Sleep(50 * time.Millisecond)
	killed.Process.Kill()
	killed.Wait()
	outcomes := map[string]int{}
	for i, cmd := range all {
		err := cmd.Wait()
		text := outs[i].String()
		if err != nil {
			t.Errorf("process %d: %v\n%s", i, err, text)
		}
		for _, o := range []string{"fetched", "made", "remade"} {
			outcomes[o] += strings.Count(text, "outcome "+o)
		}
	}
	t.Logf("%d processes: %v", processes, outcomes)
	if outcomes["fetched"] == 0 || outcomes["made"] == 0 {
		t.Errorf("outcomes %v", outcomes)
	}
	for round := range rounds {
		c := &cache.Cache{Dir: dir, Build: "b", Mode: cache.FetchOrMake}
		if _, err := c.Do(roundKey(round), func(b []byte) error {
			if !bytes.Equal(b, big(round)) {
				return errors.New("not the round's")
			}
			return nil
		}, func() ([]byte, error) { return big(round), nil }); err != nil {
			t.Error(err)
		}
	}
}

const rounds = 12

func roundKey(round int) *cache.Key {
	k := key()
	k.Options = fmt.Sprint(round)
	return k
}

// process is one of them: it goes through the same keys as the others.
func process(t *testing.T, dir string) {
	kind := os.Getenv("ANESIM_CACHE_KIND")
	for round := range rounds {
		c := &cache.Cache{Dir: dir, Build: "b"}
		if kind == "force" {
			c.Mode = cache.ForceRecompilation
		}
		want := big(round)
		e, err := c.Do(roundKey(round), func(b []byte) error {
			if !bytes.Equal(b, want) {
				t.Errorf("round %d: %d bytes that are not its own pass for whole", round, len(b))
			}
			return nil
		}, func() ([]byte, error) { return want, nil })
		if err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		fmt.Printf("outcome %v\n", e.Outcome)
		if kind == "damage" && round%3 == 0 {
			f, err := os.OpenFile(e.Path, os.O_WRONLY, 0)
			if err == nil {
				f.WriteAt([]byte(hex.EncodeToString([]byte("damage"))), int64(100+round))
				f.Close()
			}
		}
	}
}

func FuzzEntry(f *testing.F) {
	dir := f.TempDir()
	c := &cache.Cache{Dir: dir, Build: "b"}
	e, err := c.Do(key(), func([]byte) error { return nil }, func() ([]byte, error) { return []byte("programs"), nil })
	if err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(e.Path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:20])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(e.Path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		made := false
		got, err := c.Do(key(), func(b []byte) error {
			if !made && !bytes.Equal(data, whole) {
				t.Errorf("%q is fetched", data)
			}
			return nil
		}, func() ([]byte, error) { made = true; return []byte("programs"), nil })
		if err != nil || made == (got.Outcome == cache.Fetched) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
