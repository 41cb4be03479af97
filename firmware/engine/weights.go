package engine

import (
	"bytes"
	"fmt"
	"slices"

	"anesim/hw/dma"
	"anesim/hw/regs"
	"anesim/loader"
)

// A WeightsError reports weights that cannot take the place of those of a program.
type WeightsError struct {
	Program, Weights string // names of the two programs
	What             string
}

func (e *WeightsError) Error() string {
	return fmt.Sprintf("weights of %s for program %s: %s", e.Weights, e.Program, e.What)
}

// AddWeights places the constants of program p in memory, for calls of l that use them instead of
// their own: such a call has a [Setting] with IsWeights and the returned address. Both programs must
// be alike but for their constants, since the descriptors are those of l; otherwise AddWeights returns
// a *[WeightsError]. It returns a *[NoMemoryError] if memory is short. [Session.Release] frees the
// memory.
func (s *Session) AddWeights(l *Loaded, p *loader.Program) (address uint64, err error) {
	fail := func(what string) (uint64, error) {
		return 0, &WeightsError{l.program.Name, p.Name, what}
	}
	own, other := weightsOf(l.program), weightsOf(p)
	switch {
	case own == nil || other == nil:
		return fail("want one section of weights in each")
	case own.Addr != l.program.BARs[regs.BARWeights]:
		return fail("the program does not address its weights by their base register")
	case own.Size != other.Size:
		return fail(fmt.Sprintf("they take %d bytes; want %d", other.Size, own.Size))
	case !haveSameLayout(l.program.Ports, p.Ports), !bytes.Equal(textOf(l.program), textOf(p)):
		return fail("the descriptors or the ports differ") // a network may have values in its registers
	}
	if address, err = s.Reserve("weights of "+p.Name, other.Size); err != nil {
		return 0, err
	}
	if other.Data == nil {
		return address, nil
	}
	s.mem.Remove(address)
	return address, s.mem.Add(dma.Segment{Name: other.String(), Addr: address, Size: other.Size, Data: other.Data})
}

// weightsOf returns the section of constants of p, or nil unless there is exactly one.
func weightsOf(p *loader.Program) (found *loader.Segment) {
	for i := range p.Segments {
		if s := &p.Segments[i]; s.IsWeights() && s.Size > 0 {
			if found != nil {
				return nil
			}
			found = s
		}
	}
	return found
}

// textOf returns the bytes of the descriptors of p before they are relocated.
func textOf(p *loader.Program) []byte {
	for i := range p.Segments {
		if s := &p.Segments[i]; s.Name == "__TEXT" && s.Section == "__text" {
			return s.Data
		}
	}
	return nil
}

// withWeightsAt returns a copy of p whose constants are at another address.
func withWeightsAt(p *loader.Program, address uint64) *loader.Program {
	q := *p
	q.Segments = slices.Clone(p.Segments)
	if s := weightsOf(&q); s != nil {
		q.BARs[regs.BARWeights], s.Addr, s.Data = address, address, nil
	}
	return &q
}
