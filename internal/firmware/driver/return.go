package driver

import "fmt"

// A Return is the return value of a selector.
type Return uint32

// Return values with the numbers that the documents give them. [Return.Public] returns the
// numbers of the public header.
const (
	Success         Return = 0x00000000
	Error           Return = 0xe0000001
	Busy            Return = 0xe0000007
	NoMemory        Return = 0xe00002bd
	NoResources     Return = 0xe00002be
	NotPrivileged   Return = 0xe00002c1
	BadArgument     Return = 0xe00002c2
	ExclusiveAccess Return = 0xe00002c5 // the client is closed or closing, according to the documents
	Unsupported     Return = 0xe00002c7
	NotReady        Return = 0xe00002d0
	Aborted         Return = 0xe00002eb
	NotFound        Return = 0xe00002f0
	Timeout         Return = 0xe0000404

	// UsageUnsupported is the return value for opening the device with usage 2. The
	// documents give the number without a name.
	UsageUnsupported Return = 24
)

var returns = [...]struct {
	r      Return
	name   string
	public uint32
}{
	{Success, "Success", 0},
	{Error, "Error", 0xe00002bc},
	{Busy, "Busy", 0xe00002d5},
	{NoMemory, "NoMemory", 0xe00002bd},
	{NoResources, "NoResources", 0xe00002be},
	{NotPrivileged, "NotPrivileged", 0xe00002c1},
	{BadArgument, "BadArgument", 0xe00002c2},
	{ExclusiveAccess, "ExclusiveAccess", 0xe00002c5},
	{Unsupported, "Unsupported", 0xe00002c7},
	{NotReady, "NotReady", 0xe00002d8},
	{Aborted, "Aborted", 0xe00002eb},
	{NotFound, "NotFound", 0xe00002f0},
	{Timeout, "Timeout", 0xe00002d6},
}

// Returns returns all return values that have a name.
func Returns() []Return {
	list := make([]Return, len(returns))
	for i := range returns {
		list[i] = returns[i].r
	}
	return list
}

// Name returns the name of the return value, such as "NotFound", or "" if it has none.
func (r Return) Name() string {
	for _, x := range returns {
		if x.r == r {
			return x.name
		}
	}
	return ""
}

// Public returns the number that the vendor's public header gives for the return value. It returns
// r itself if the header does not name the value.
func (r Return) Public() uint32 {
	for _, x := range returns {
		if x.r == r {
			return x.public
		}
	}
	return uint32(r)
}

// String returns the name and the number of the return value, followed by the number in the public
// header if that differs.
func (r Return) String() string {
	if r == UsageUnsupported {
		return "usage unsupported (24)"
	}
	for _, x := range returns {
		switch {
		case x.r != r:
		case x.public != uint32(r):
			return fmt.Sprintf("%s (%#x, public header %#x)", x.name, uint32(r), x.public)
		default:
			return fmt.Sprintf("%s (%#x)", x.name, uint32(r))
		}
	}
	return fmt.Sprintf("return %#x", uint32(r))
}
