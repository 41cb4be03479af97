package firmware

import (
	"encoding/binary"
	"fmt"

	"anesim/hw/clock"
)

// Layout of the buffer in which the firmware stores the statistics of a call, as read from
// the vendor's code.
const (
	statisticsHeaderBytes = 0x28
	statisticsRecordBytes = 0x20
	// StatisticsBytes is the size of the statistics of a call, with a record for each unit.
	StatisticsBytes = statisticsHeaderBytes + units*statisticsRecordBytes

	statisticsMagic = 0x0101
)

// Statistics holds the statistics that the firmware stores in a buffer when a call ends. The
// offsets of the header's fields were read from the vendor's code. The meaning of two header words
// and the layout of the records are assumed.
type Statistics struct {
	Time    clock.Nanoseconds  // +4, eight bytes, in whole nanoseconds
	Program uint32             // +0xc
	Faults  uint32             // +0x18
	Calls   uint32             // +0x1c: calls of the program so far, including this one
	Records []StatisticsRecord // one per unit of the engine
}

// A StatisticsRecord holds the statistics of one unit of the engine during a call.
type StatisticsRecord struct {
	Unit    uint32 // +0
	Busy    uint64 // +8, cycles
	Stalled uint64 // +0x10, cycles
	Bytes   uint64 // +0x18, moved in and out
}

// Units that have a statistics record.
const (
	UnitNE uint32 = iota
	UnitL2
	UnitPlanar
	UnitDMA

	units = iota // number of units
)

// Append appends the encoded statistics to dst, using at most size bytes, and returns the extended
// slice. It omits the last records if they do not fit, and everything if the header does not fit.
func (s *Statistics) Append(dst []byte, size uint64) []byte {
	if size < statisticsHeaderBytes {
		return dst
	}
	n := min(uint64(len(s.Records)), (size-statisticsHeaderBytes)/statisticsRecordBytes)
	le := binary.LittleEndian
	b := make([]byte, statisticsHeaderBytes+n*statisticsRecordBytes)
	le.PutUint32(b, statisticsMagic)
	le.PutUint64(b[4:], uint64(s.Time))
	le.PutUint32(b[0xc:], s.Program)
	le.PutUint32(b[0x18:], s.Faults)
	le.PutUint32(b[0x1c:], s.Calls)
	le.PutUint32(b[0x24:], uint32(n*statisticsRecordBytes))
	for i, r := range s.Records[:n] {
		at := b[statisticsHeaderBytes+i*statisticsRecordBytes:]
		le.PutUint32(at, r.Unit)
		le.PutUint64(at[8:], r.Busy)
		le.PutUint64(at[0x10:], r.Stalled)
		le.PutUint64(at[0x18:], r.Bytes)
	}
	return append(dst, b...)
}

// A StatisticsError reports bytes that are not valid statistics.
type StatisticsError struct {
	Off  int
	What string
}

func (e *StatisticsError) Error() string {
	return fmt.Sprintf("statistics, byte %#x: %s", e.Off, e.What)
}

// ReadStatistics decodes the statistics at the start of b and ignores the bytes after them. The
// error is a *[StatisticsError].
func ReadStatistics(b []byte) (*Statistics, error) {
	if len(b) < statisticsHeaderBytes {
		return nil, &StatisticsError{len(b), fmt.Sprintf("buffer has %d bytes; want at least %d", len(b), statisticsHeaderBytes)}
	}
	le := binary.LittleEndian
	if v := le.Uint32(b); v != statisticsMagic {
		return nil, &StatisticsError{0, fmt.Sprintf("invalid magic number %#x; want %#x", v, statisticsMagic)}
	}
	bytes := le.Uint32(b[0x24:])
	if rest := b[statisticsHeaderBytes:]; uint64(bytes) > uint64(len(rest)) || bytes%statisticsRecordBytes != 0 {
		return nil, &StatisticsError{0x24, fmt.Sprintf("records occupy %d bytes; want a multiple of %d, at most %d", bytes, statisticsRecordBytes, len(rest))}
	}
	s := &Statistics{
		Time: clock.Nanoseconds(le.Uint64(b[4:])), Program: le.Uint32(b[0xc:]), Faults: le.Uint32(b[0x18:]), Calls: le.Uint32(b[0x1c:]),
	}
	for at := statisticsHeaderBytes; at < statisticsHeaderBytes+int(bytes); at += statisticsRecordBytes {
		r := b[at:]
		s.Records = append(s.Records, StatisticsRecord{le.Uint32(r), le.Uint64(r[8:]), le.Uint64(r[0x10:]), le.Uint64(r[0x18:])})
	}
	return s, nil
}
