package trace

import (
	"bufio"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of Perfetto's trace messages, named by message and field.
const (
	tracePacket = 1

	packetTimestamp  = 8 // ns
	packetSequence   = 10
	packetEvent      = 11
	packetFlags      = 13
	packetDescriptor = 60

	descriptorUUID        = 1
	descriptorName        = 2
	descriptorProcess     = 3
	descriptorParent      = 5
	descriptorCounter     = 8
	descriptorOrdering    = 11
	descriptorRank        = 12
	descriptorDescription = 14

	processPID  = 1
	processName = 6

	counterUnit = 6

	eventAnnotation       = 4
	eventType             = 9
	eventTrack            = 11
	eventCategory         = 22
	eventName             = 23
	eventCounter          = 44
	eventFlow             = 47
	eventTerminatingFlow  = 48
	annotationUint        = 3
	annotationDouble      = 5
	annotationString      = 6
	annotationName        = 10
	flagStateCleared      = 1
	orderingExplicit      = 3
	typeBegin, typeEnd    = 1, 2
	typeCounter           = 4
	traceSequence, ourPID = 1, 1
)

// A traceWriter encodes the packets of a Perfetto trace as protocol buffers.
type traceWriter struct {
	w             *bufio.Writer
	packet, event []byte // message under construction
	inner         []byte
	started       bool
	err           error // first error of w
}

func newTraceWriter(w io.Writer) *traceWriter { return &traceWriter{w: bufio.NewWriter(w)} }

// A track is the id of a line in the trace viewer, which shows slices or a counter.
type track uint64

// An argument is a named value that the trace viewer shows for a slice. The value is a uint64, a
// float64 or a string.
type argument struct {
	name  string
	value any
}

// writePacket writes the buffered packet and empties the buffer. Errors are reported when the
// writer is flushed.
func (t *traceWriter) writePacket() {
	t.packet = appendUint(t.packet, packetSequence, traceSequence)
	if !t.started {
		t.packet = appendUint(t.packet, packetFlags, flagStateCleared)
		t.started = true
	}
	var head [2 * binaryMax]byte
	h := protowire.AppendTag(head[:0], tracePacket, protowire.BytesType)
	h = protowire.AppendVarint(h, uint64(len(t.packet)))
	t.w.Write(h)
	if _, err := t.w.Write(t.packet); err != nil {
		t.err = err
	}
	t.packet = t.packet[:0]
}

// binaryMax is the maximum number of bytes in a varint.
const binaryMax = 10

// describeProcess writes the name of the process track, which contains all other tracks.
func (t *traceWriter) describeProcess(of track, name string) {
	p := appendUint(nil, processPID, ourPID)
	p = appendText(p, processName, name)
	d := appendUint(nil, descriptorUUID, uint64(of))
	d = appendBytes(d, descriptorProcess, p)
	d = appendUint(d, descriptorOrdering, orderingExplicit)
	t.packet = appendBytes(t.packet, packetDescriptor, d)
	t.writePacket()
}

// describeTrack writes the name, the description and the rank of a track within its parent. A track
// with a unit is a counter; any other shows slices.
func (t *traceWriter) describeTrack(of, parent track, rank int, name, description, unit string) {
	d := appendUint(nil, descriptorUUID, uint64(of))
	d = appendText(d, descriptorName, name)
	d = appendUint(d, descriptorParent, uint64(parent))
	if unit != "" {
		d = appendBytes(d, descriptorCounter, appendText(nil, counterUnit, unit))
	}
	d = appendUint(d, descriptorRank, uint64(rank))
	if description != "" {
		d = appendText(d, descriptorDescription, description)
	}
	t.packet = appendBytes(t.packet, packetDescriptor, d)
	t.writePacket()
}

// beginSlice writes the start of a slice at a time in nanoseconds. The arrows with the IDs in out
// begin at the slice, and the arrows with the IDs in in end there.
func (t *traceWriter) beginSlice(on track, at uint64, category, name string, out, in []uint64, args ...argument) {
	t.event = appendUint(t.event[:0], eventType, typeBegin)
	t.event = appendUint(t.event, eventTrack, uint64(on))
	t.event = appendText(t.event, eventCategory, category)
	t.event = appendText(t.event, eventName, name)
	for _, id := range out {
		t.event = protowire.AppendFixed64(protowire.AppendTag(t.event, eventFlow, protowire.Fixed64Type), id)
	}
	for _, id := range in {
		t.event = protowire.AppendFixed64(protowire.AppendTag(t.event, eventTerminatingFlow, protowire.Fixed64Type), id)
	}
	for _, a := range args {
		t.inner = appendText(t.inner[:0], annotationName, a.name)
		switch v := a.value.(type) {
		case uint64:
			t.inner = appendUint(t.inner, annotationUint, v)
		case float64:
			t.inner = appendDouble(t.inner, annotationDouble, v)
		case string:
			t.inner = appendText(t.inner, annotationString, v)
		}
		t.event = appendBytes(t.event, eventAnnotation, t.inner)
	}
	t.writeTimedPacket(at)
}

// endSlice writes the end of the innermost open slice of a track.
func (t *traceWriter) endSlice(on track, at uint64) {
	t.event = appendUint(t.event[:0], eventType, typeEnd)
	t.event = appendUint(t.event, eventTrack, uint64(on))
	t.writeTimedPacket(at)
}

// setCounter writes that a counter has the value v from the time at (in nanoseconds) on.
func (t *traceWriter) setCounter(on track, at uint64, v float64) {
	t.event = appendUint(t.event[:0], eventType, typeCounter)
	t.event = appendUint(t.event, eventTrack, uint64(on))
	t.event = appendDouble(t.event, eventCounter, v)
	t.writeTimedPacket(at)
}

func (t *traceWriter) writeTimedPacket(at uint64) {
	t.packet = appendUint(t.packet, packetTimestamp, at)
	t.packet = appendBytes(t.packet, packetEvent, t.event)
	t.writePacket()
}

func appendUint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendDouble(b []byte, field protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), math.Float64bits(v))
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}
