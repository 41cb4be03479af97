package anesim

import (
	"fmt"

	"github.com/x448/float16"

	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// A TooLarge reports a program of a network that needs more memory than the engine can reach, or that
// has a constant tensor longer than a section of weights ([loader.MaxKernelSection]), which is then
// Limit. Weights are divided among sections between those of two engines, but a tensor is not: a
// descriptor reads it from one base, which a relocation ties to one section (containers), so it would take
// several descriptors. Its time is that of one program all the same.
type TooLarge struct {
	Program int    // index in Result.Programs
	Bytes   uint64 // weights, tensors, scratch and descriptors
	Limit   uint64 // bytes from the lowest address of a program to the end of the address space
	Layer   string // the layer with whose weights the program passes the limit
	// Cuts names the layers before which the program would have to be cut. It is empty if no cut
	// helps, because the tensors or the weights of one layer are too large.
	Cuts []string
}

// programSpace is the memory that a program can use.
const programSpace = loader.AddressSpaceEnd - loader.ApertureBase

// TooLarge returns the programs that do not fit in the engine's address space. Layers of equal shape
// that have no weights in the network's file share pseudo-random ones; here each counts its own.
func (r *Result) TooLarge() (list []TooLarge) {
	if r.Model.kind == KindProgram {
		return nil
	}
	for k := range r.Programs {
		if o := r.findExcess(k); o != nil {
			o.Program = k
			list = append(list, *o)
		}
	}
	return list
}

// findExcess returns a TooLarge if program k does not fit, and nil otherwise.
func (r *Result) findExcess(k int) *TooLarge {
	p := &r.Programs[k]
	var all, weights uint64
	for i := range p.Program.Segments {
		s := &p.Program.Segments[i]
		if s.Prot == 0 {
			continue // a guard segment
		}
		all += s.Size
		if s.IsWeights() {
			weights += s.Size
		}
	}
	layers := r.Model.net.Layers[p.First : p.First+max(1, len(p.Runs))]
	own := countWeightBytes(layers, weights)
	if o := findCuts(layers, own, all-min(all, weights)); o != nil {
		return o
	}
	return findLongConstant(layers, r.Model.net.Constants)
}

// findLongConstant returns a TooLarge for the first layer that reads a constant tensor which is longer
// than a section, and nil if there is none.
func findLongConstant(layers []list.Layer, constants map[string][]float16.Float16) *TooLarge {
	for i := range layers {
		for _, name := range layers[i].Inputs {
			if n := uint64(len(constants[name])) * layer.ElementBytes; n > loader.MaxKernelSection {
				return &TooLarge{Bytes: n, Limit: loader.MaxKernelSection, Layer: layers[i].Name}
			}
		}
	}
	return nil
}

// countWeightBytes returns the number of bytes of weights of each layer of a program whose constants
// have packed bytes in all. Made-up weights are dense; weights of the file share the rest, in
// proportion to their number.
func countWeightBytes(layers []list.Layer, packed uint64) []uint64 {
	own := make([]uint64, len(layers))
	given := make([]bool, len(layers))
	seen := map[string]bool{}
	var made, dense uint64 // bytes of distinct made-up weights, and of those of the file
	for i := range layers {
		l := &layers[i]
		n := list.Needs(&l.Lower)
		own[i] = 2 * uint64(n.Filter+n.Bias+n.Second)
		if given[i] = l.Weights.FilterLen()+len(l.Weights.Bias)+len(l.Weights.Second) > 0; given[i] {
			dense += own[i]
		} else if key := fmt.Sprintf("%t %+v", l.Average, l.Lower); !seen[key] { // as package partition shares them
			seen[key] = true
			made += own[i]
		}
	}
	if dense > 0 {
		share := min(1, float64(packed-min(packed, made))/float64(dense))
		for i := range own {
			if given[i] {
				own[i] = uint64(share * float64(own[i]))
			}
		}
	}
	return own
}

// findCuts returns a TooLarge if layers with the given bytes of weights do not fit in one program
// with others bytes of other memory, and nil otherwise.
func findCuts(layers []list.Layer, weights []uint64, others uint64) *TooLarge {
	o := &TooLarge{Bytes: others, Limit: programSpace}
	for _, n := range weights {
		o.Bytes += n
	}
	if o.Bytes <= o.Limit {
		return nil
	}
	sum, possible := others, others <= o.Limit
	for i := range layers {
		if sum += weights[i]; sum <= o.Limit {
			continue
		}
		if o.Layer == "" {
			o.Layer = layers[i].Name
		}
		if sum = others + weights[i]; sum > o.Limit || i == 0 {
			possible = false
		}
		if o.Cuts = append(o.Cuts, layers[i].Name); !possible {
			break
		}
	}
	if !possible {
		o.Cuts = nil
	}
	return o
}
