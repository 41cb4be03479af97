package coeff

import (
	"anesim/internal/datapath/lanes"
	"anesim/loader/layer"
)

// A Share describes the output channels that one task computes. It consists of channels First
// through First+Channels-1 in each of the groups Group through Group+Groups-1. A depthwise
// convolution counts as one group.
type Share struct{ Group, Groups, First, Channels int }

// RoundToPasses returns how many channels an engine computes in one task. room is the number of
// channels whose weights fit in its memory. An engine computes up to 16 channels in one pass, so if
// room is more than 16, it is rounded down to a multiple of 16. Otherwise it is rounded down to an
// even number, except that 1 stays 1.
//
// In programs, engines compute 14, 12 and 6 channels where there is room for 14, 13 and 7 (seen in
// 11 of 11 convolutions), and 48 where there is room for 63 (seen in 2 of 2 matmuls with a table).
// That convolutions use multiples of 16 too is inferred.
func RoundToPasses(room int) int {
	switch {
	case room > engineChannels:
		return room / engineChannels * engineChannels
	case room > 1:
		return room &^ 1
	}
	return room
}

// engineChannels is the largest number of channels that an engine computes in one pass over its
// source.
const engineChannels = 16

// SplitChannels divides the output channels of one group into shares, each of which is spread over
// all engines. The weights that an engine holds for a share fit in its memory: bytes is the size of
// one channel's weights, and lane is the size of the memory. The shares start with the last
// channels and end with the first. If they differ in size, the first share is the smaller one. If
// the weights of a single channel do not fit, the error is a *layer.LimitError.
func SplitChannels(channels, bytes, lane int) ([]Share, error) {
	each := RoundToPasses(lane / bytes)
	if each == 0 {
		return nil, layer.CheckLimit("weight bytes per output channel", bytes, lane,
			"split the input channels until the weights of one output channel take at most %d bytes, and add the parts")
	}
	var s []Share
	for end := channels; end > 0; {
		n := min(end, each*lanes.Count)
		if r := end % (each * lanes.Count); len(s) == 0 && r > 0 {
			n = r
		}
		end -= n
		s = append(s, Share{0, 1, end, n})
	}
	return s, nil
}

// Shares divides the output channels into shares whose weights fit in the memories of the engines.
// A result of up to 128 pixels uses each weight only once, so it needs a single share of any size.
// For other results, an engine holds at most 64 KiB of weights, and [SplitChannels] makes the
// shares (seen in 5 of 5 programs). That groups are split before their channels is assumed. If the
// weights of a single channel do not fit, the error is a *layer.LimitError.
func (c *Convolution) Shares() ([]Share, error) {
	l := c.Layer
	out := l.Out()
	groups := c.TaskGroups()
	channels := l.Cout / groups
	all := []Share{{0, groups, 0, channels}}
	if out.H*out.W <= lanes.PatchPixels {
		return all, nil
	}
	bytes := c.channelBytes(channels)
	group := layer.RoundUp((channels+lanes.Count-1)/lanes.Count*bytes, 64)
	if each := l.LaneBytes() / group; groups > 1 && each > 0 {
		var s []Share
		for first := 0; first < groups; first += each {
			s = append(s, Share{first, min(each, groups-first), 0, channels})
		}
		return s, nil
	}
	parts, err := SplitChannels(channels, bytes, l.LaneBytes())
	if err != nil {
		return nil, err
	}
	var s []Share
	for g := range groups {
		for _, part := range parts {
			s = append(s, Share{g, 1, part.First, part.Channels})
		}
	}
	return s, nil
}
