package loader

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestProcedures writes three procedures into a container and reads each.
func TestProcedures(t *testing.T) {
	var parts []*Builder
	for _, name := range []string{"conv", "concat", "conv"} {
		b, err := exampleBuilder(name)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, b)
	}
	for i, name := range []string{"conv", "concat", "again"} {
		b := parts[i]
		b.Procedure = name
		for i := range b.Ports {
			b.Ports[i].Name = name + "." + b.Ports[i].Name
		}
	}
	parts[0].Also = parts[1:]
	c, err := parts[0].Container()
	if err != nil {
		t.Fatal(err)
	}
	file := c.Bytes()
	for _, tt := range []struct {
		name, procedure           string
		tasks, ports, relocations int
	}{{"", "conv", 1, 2, 3}, {"conv", "conv", 1, 2, 3}, {"concat", "concat", 2, 3, 0}, {"again", "again", 1, 2, 3}} {
		o := Options{Procedure: tt.name}
		p, err := o.Read("three", bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatalf("%q: %v", tt.name, err)
		}
		l, err := p.Link()
		if err != nil {
			t.Fatalf("%q: %v", tt.name, err)
		}
		if p.Procedure != tt.procedure || len(l.Tasks) != tt.tasks || len(p.Ports) != tt.ports || len(p.Relocations) != tt.relocations {
			t.Errorf("%q is %s: %d tasks, %d ports, %d relocations; want %+v", tt.name, p.Procedure, len(l.Tasks), len(p.Ports), len(p.Relocations), tt)
		}
		for _, q := range p.Ports {
			if !strings.HasPrefix(q.Name, tt.procedure+".") || q.BAR < 0 {
				t.Errorf("%q has port %+v", tt.name, q)
			}
		}
		if !slices.Equal(p.Procedures, []string{"conv", "concat", "again"}) {
			t.Errorf("procedures %q", p.Procedures)
		}
		if !bytes.Equal(p.Bytes(), file) {
			t.Errorf("%q: the written container differs", tt.name)
		}
	}
	_, err = (&Options{Procedure: "none"}).Read("three", bytes.NewReader(file), int64(len(file)))
	var f *FormatError
	if !errors.As(err, &f) || !strings.Contains(err.Error(), "concat") {
		t.Errorf("a procedure that is not there: %v", err)
	}
}

// TestInspect reads containers of every generation for what does not depend on it.
func TestInspect(t *testing.T) {
	for _, s := range []Subtype{1, 3, 5, 6, 7, 9, 10} {
		file, at := identity(t)
		le.PutUint32(file[8:], uint32(s))
		// Their text is not version 7.
		copy(file[0x4000:], bytes.Repeat([]byte{0xa5}, 0x200))
		// Nor need their thread commands be laid out as ours.
		le.PutUint32(file[at["program"]+programTasks:], 0)
		p, err := (&Options{Inspect: true}).Read("other", bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Errorf("%v: %v", s, err)
			continue
		}
		if len(p.Segments) != 5 || len(p.Ports) != 2 || len(p.Symbols) == 0 || p.Banner.Compiler == "" {
			t.Errorf("%v: %d segments, %d ports, %d symbols, banner %+v", s, len(p.Segments), len(p.Ports), len(p.Symbols), p.Banner)
		}
		if !bytes.Equal(p.Bytes(), file) {
			t.Errorf("%v: the written container differs", s)
		}
		var u *UnsupportedError
		if _, err := p.Link(); !errors.As(err, &u) || !strings.Contains(err.Error(), s.String()) {
			t.Errorf("%v: linked: %v", s, err)
		}
	}
}
