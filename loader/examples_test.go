package loader

import (
	"bytes"
	"os"
	"path/filepath"

	"anesim/hw/regs"
)

// The example programs as loader/lower builds them, which imports this package; a test
// there holds the files to what it builds.

func exampleNames() []string { return []string{"identity", "conv", "relu", "add", "concat"} }

func exampleFile(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join("testdata", "examples", name+".hwx"))
}

func exampleProgram(name string) (*Program, error) {
	file, err := exampleFile(name)
	if err != nil {
		return nil, err
	}
	return Read(name, bytes.NewReader(file), int64(len(file)))
}

// exampleBuilder is a builder that makes an example's program again.
func exampleBuilder(name string) (*Builder, error) {
	p, err := exampleProgram(name)
	if err != nil {
		return nil, err
	}
	b := &Builder{Ports: p.Ports}
	for i := range b.Ports {
		b.Ports[i].Address = 0
	}
	for d, err := range p.Descriptors() {
		if err != nil {
			return nil, err
		}
		b.Chain = append(b.Chain, d)
	}
	if s, ok := p.Segment("__TEXT", "__const"); ok && len(p.Tiles) > 0 {
		b.Constants = s.Data
	}
	return b, nil
}

// blank is a descriptor of so many words in all that writes nothing but zeros.
func blank(words int) *regs.Descriptor {
	const most = 16 // of the Common block
	d := &regs.Descriptor{Words: words}
	for rest := words - regs.HeaderWords; rest > 0; {
		n := min(rest-1, most)
		if rest-1-n == 1 {
			n-- // a record has a word and at least one value
		}
		d.Records = append(d.Records, regs.Record{Addr: 0, Values: make([]uint32, n)})
		rest -= 1 + n
	}
	return d
}

// Addresses of the identity layer.
const (
	identityInput   = 0x30008000
	identityOutput  = 0x3000c000
	identityText    = 0x30010000
	identityWeights = 0x30018000
)
