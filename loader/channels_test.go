package loader

import (
	"bytes"
	"strings"
	"testing"

	"anesim/hw/regs"
)

// Channels of the Linux driver's form that are no tensors are windows of their own, and
// scratch memory is written as one.
func TestANECScratch(t *testing.T) {
	b, err := exampleBuilder("conv")
	if err != nil {
		t.Fatal(err)
	}
	b.Scratch = 0x5000
	from, err := b.Build("scratch")
	if err != nil {
		t.Fatal(err)
	}
	file, err := from.ANEC()
	if err != nil {
		t.Fatal(err)
	}
	pages := func(channel int) uint32 { return le.Uint32(file[anecTiles+4*channel:]) }
	if got := pages(regs.BARScratch); got != 2 {
		t.Errorf("scratch of 0x5000 bytes takes %d pages", got)
	}
	if pages(2) != 0 || pages(anecFirstTensor) == 0 {
		t.Errorf("%d pages of channel 2, %d of the result", pages(2), pages(anecFirstTensor))
	}
	p, err := Read("scratch", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if s := p.segmentContaining(p.BARs[regs.BARScratch]); p.BARs[regs.BARScratch] == 0 || s == nil || s.Size != 2*PageSize || s.Prot != ProtRead|ProtWrite {
		t.Errorf("scratch at %#x: %+v", p.BARs[regs.BARScratch], s)
	}
	var names []string
	for _, q := range p.Ports {
		names = append(names, q.Name)
	}
	if got := strings.Join(names, " "); got != "src0 dst0" {
		t.Errorf("ports %s", got)
	}
	// A window of as many pages as there may be, and one more.
	for n, good := range map[uint32]bool{MaxScratch / PageSize: true, MaxScratch/PageSize + 1: false} {
		c := bytes.Clone(file)
		le.PutUint32(c[anecTiles+4*regs.BARScratch:], n)
		_, err := Read("scratch", bytes.NewReader(c), int64(len(c)))
		if bad := err != nil && strings.Contains(err.Error(), "channel 3 exceeds"); bad == good {
			t.Errorf("%d pages: %v", n, err)
		}
	}
	// A program without weights has no window for them.
	relu := anecExample(t, "relu")
	if p, err = Read("relu", bytes.NewReader(relu), int64(len(relu))); err != nil || p.BARs[regs.BARWeights] != 0 && le.Uint64(relu[24:]) == 0 {
		t.Errorf("weights at %#x of a program that has none, %v", p.BARs[regs.BARWeights], err)
	}
	// Only ports with a buffer, and not more than there is room for.
	q := *from
	q.Ports = append([]Port(nil), from.Ports...)
	q.Ports[0].BAR = -1
	if _, err := q.ANEC(); err == nil || !strings.Contains(err.Error(), "no buffer has the port's address") {
		t.Errorf("%v", err)
	}
	q.Ports[0].BAR = 0
	if _, err := q.ANEC(); err != nil && strings.Contains(err.Error(), "no buffer has the port's address") {
		t.Errorf("buffer 0 is one: %v", err)
	}
	q.Ports = nil
	if _, err := q.ANEC(); err == nil || !strings.Contains(err.Error(), "0 ports") {
		t.Errorf("%v", err)
	}
}
