package lower

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"anesim/hw/regs"
)

// difference is one word that differs from the real program.
type difference struct {
	task      int
	word      string
	got, want uint32
}

func (d difference) String() string {
	return fmt.Sprintf("%d %s %08x want %08x", d.task, d.word, d.got, d.want)
}

// words are a text's words by name, task by task.
func words(text []byte, first int) ([]map[string]uint32, error) {
	names := map[uint32]string{}
	for r := range regs.Registers() {
		names[r.Addr()] = r.Block + "." + r.Name
	}
	var tasks []map[string]uint32
	for d, err := range regs.Chain(text, first) {
		if err != nil {
			return tasks, err
		}
		m := map[string]uint32{"offset": d.Offset, "words": uint32(d.Words)}
		h := d.Append(nil)
		for i := range regs.HeaderWords {
			m[fmt.Sprintf("W%d", i)] = uint32(h[4*i]) | uint32(h[4*i+1])<<8 | uint32(h[4*i+2])<<16 | uint32(h[4*i+3])<<24
		}
		for _, r := range d.Records {
			for i, v := range r.Values {
				a := r.Addr + 4*uint32(i)
				name := fmt.Sprintf("%#x", a)
				if q, ok := names[a]; ok {
					name = q
				}
				m[name] = v
			}
		}
		tasks = append(tasks, m)
	}
	return tasks, nil
}

func compare(t *testing.T, got, want []byte, first int) []difference {
	t.Helper()
	a, err := words(got, first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := words(want, first)
	if err != nil {
		t.Fatal(err)
	}
	var diff []difference
	if len(a) != len(b) {
		diff = append(diff, difference{0, "tasks", uint32(len(a)), uint32(len(b))})
	}
	for i := range min(len(a), len(b)) {
		for k, v := range b[i] {
			if g := a[i][k]; g != v {
				diff = append(diff, difference{i, k, g, v})
			}
		}
	}
	return diff
}

func TestProgress(t *testing.T) {
	if os.Getenv("LOWER_PROGRESS") == "" && !testing.Verbose() {
		t.Skip()
	}
	same, hashes, hashed := 0, 0, 0
	for _, e := range examples(t) {
		if e.layer.Op == 0 {
			t.Logf("---- %s: no layer", e.name)
			continue
		}
		c, err := Compile(e.layer, e.w)
		if err != nil {
			t.Errorf("---- %s: %v", e.name, err)
			continue
		}
		if bytes.Equal(c.Text, e.text) {
			same++
		} else {
			t.Logf("---- %s %d tasks %d bytes want %d", e.name, c.Tasks, len(c.Text), len(e.text))
			for i, d := range compare(t, c.Text, e.text, c.FirstWords) {
				if i > 24 {
					break
				}
				t.Log("      ", d)
			}
		}
		if e.facts != nil && e.facts.Section.SHA256 != "" {
			hashed++
			k := c.Constants
			if k == nil {
				k = make([]byte, 16384)
			}
			if h := fmt.Sprintf("%x", sha256.Sum256(k)); strings.HasPrefix(h, e.facts.Section.SHA256) {
				hashes++
			} else {
				t.Logf("---- %s: constants %d bytes, want %d, hash differs", e.name, len(k), e.facts.Section.Size)
			}
		}
	}
	t.Logf("%d identical, %d of %d hashes", same, hashes, hashed)
}
