package join

import (
	"slices"

	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// A concatenation needs no task for an input that its producer can write to its channels of the result:
//
//	conv --> a --\                      conv --> y, channels 0 to 63
//	              concat --> y   ==>
//	conv --> b --/                      conv --> y, channels 64 to 95
//
// The other readers of a and b read them there, and a result can itself be such an input: all tensors of a
// dense block are channels of its last one. The channels of a tensor are planes that follow each other, so
// that neither strides nor values change.
//
// That Apple's compiler does so is inferred: none of its programs at hand has a concatenation behind a
// layer. DenseNet-121, which has 58 of them, took 2,051 us on an M1 Max with the first release of macOS 12, and
// 1,878 us on the same machine after an update. The model takes 1,994 us with copies and 1,817 us with this
// rule, a quotient of 0.911 where 0.916 was measured. So the compiler of 2023 is taken to copy.

// A location is where the elements of a tensor are: offset bytes into tensor whole.
type location struct{ whole, offset int }

// concatenateInPlace removes the tasks of concatenations that copy a tensor which can be written, and
// read, as a part of the result, unless the release of the compiler copies them. It must follow the
// packing of weights, because it changes parts.
func (j *joiner) concatenateInPlace() {
	if j.isRelease(layer.Release2023) {
		return // it copies, see above
	}
	at := make([]location, len(j.tensors))
	for i := range at {
		at[i] = location{whole: i}
	}
	movable := j.findMovableTensors()
	madeBy := make([]int, len(j.tensors))
	for i := range j.steps {
		madeBy[j.steps[i].output] = i
	}
	for i := len(j.steps) - 1; i >= 0; i-- { // a result may be an input of a later concatenation
		s := &j.steps[i]
		l := &s.part.Layer
		if l.Op != layer.Concat || !movable[s.output] || len(j.nodes[s.node].members) > 1 || len(s.part.output.Tasks) != len(s.inputs) {
			continue
		}
		plane := place.Surface(0, l.In).Plane
		var copies []*task.Task // of the inputs that have to be copied
		first := 0
		for k, in := range s.inputs {
			have := j.tensors[in].shape
			if movable[in] && at[in].whole == in && have.C == l.Parts[k] && have.H == l.In.H && have.W == l.In.W && countOf(s.inputs, in) == 1 {
				at[in] = location{s.output, first * plane}
			} else {
				copies = append(copies, s.part.output.Tasks[k])
			}
			first += l.Parts[k]
		}
		if len(copies) < len(s.inputs) {
			s.part = s.part.withTasks(copies)
		}
		if len(copies) == 0 {
			s.doneBy = madeBy[s.inputs[len(s.inputs)-1]] + 1
		}
	}
	for i := range at { // parents before their parts: the result of a step has a higher index than its inputs
		n := len(at) - 1 - i
		if whole := at[n].whole; whole != n {
			at[n] = location{at[whole].whole, at[whole].offset + at[n].offset}
		}
	}
	for i := range j.steps {
		j.moveStep(&j.steps[i], at)
	}
	for i := range at {
		if whole := at[i].whole; whole != i {
			t := &j.tensors[whole]
			t.last = max(t.last, j.tensors[i].last)
			j.tensors[i].inside = true
		}
	}
}

func countOf(list []int, v int) (n int) {
	for _, x := range list {
		if x == v {
			n++
		}
	}
	return n
}

// findMovableTensors returns the tensors between steps that can be parts of another one, or have others as
// parts. They have a batch of 1, so that they are one piece of memory, and all their accesses have plain
// strides, which can be those of L2 too. Row chains and pixel chains pass tiles with strides of their own.
func (j *joiner) findMovableTensors() []bool {
	movable := make([]bool, len(j.tensors))
	for _, r := range j.findPlainTensors() {
		t := &j.tensors[r.tensor]
		movable[r.tensor] = !t.port && t.shape.N == 1
	}
	for i := range j.steps {
		if s := &j.steps[i]; s.chain != nil {
			for _, t := range slices.Concat(s.inputs, s.more, []int{s.output}) {
				movable[t] = false
			}
		}
	}
	return movable
}

// moveStep makes step s read and write the tensors of which its inputs and its result are parts.
func (j *joiner) moveStep(s *step, at []location) {
	offsets := map[uint32]int{}
	note := func(tensor *int, bar uint32) {
		if to := at[*tensor]; to.whole != *tensor {
			offsets[bar] += to.offset
			*tensor = to.whole
		}
	}
	s.inputs = slices.Clone(s.inputs)
	for k := range s.inputs {
		note(&s.inputs[k], uint32(s.part.inputs[k].BAR))
	}
	note(&s.output, s.part.outputBAR)
	for _, bytes := range offsets {
		if bytes > 0 {
			s.part = s.part.withOffsets(offsets)
			return
		}
	}
}

// withOffsets returns a part that does the work of q on tensors that begin at the given offsets, in bytes, of
// the buffers that it reads and writes. The two parts share their constants.
func (q *Part) withOffsets(bytes map[uint32]int) *Part {
	var at place.Spots
	for bar := range at {
		at[bar] = place.Spot{Bar: uint32(bar), Base: bytes[uint32(bar)]}
	}
	return q.withTasks(q.placeTasks(&at))
}

// withTasks returns a part like q with other tasks. The two parts share their constants.
func (q *Part) withTasks(tasks []*task.Task) *Part {
	out := *q.output
	out.Tasks = tasks
	return &Part{Layer: q.Layer, Weights: q.Weights, Shape: q.Shape, output: &out, inputs: q.inputs, outputBAR: q.outputBAR, attention: q.attention, constantsOf: q.constantsOwner()}
}

// constantsOwner returns the part that has the constants of q: q itself, or the part that q was made from.
func (q *Part) constantsOwner() *Part {
	if q.constantsOf != nil {
		return q.constantsOf
	}
	return q
}
