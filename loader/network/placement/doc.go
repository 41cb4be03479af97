// Package placement says which of a machine's processors runs each operation of a network,
// as the vendor's framework decides ahead of running it.
//
// The engine is one backend beside the CPU and the GPU. Every operation has a node for
// each backend that takes it, and the cheapest way from the network's inputs to its
// outputs, by Dijkstra, is the plan:
//
//	          +--> conv@engine --> softmax@engine --+
//	inputs ---+--> conv@gpu    --> softmax@gpu    --+--> outputs
//	          +--> conv@cpu    --> softmax@cpu    --+
//
// A node costs the larger of its time to compute and its time to move bytes; an edge
// between two backends costs the launch of a segment, and, for every tensor that lives on
// across it, the repacking between the engine's channel-interleaved layout and the host's.
// So few and long segments are cheap. An operation that the engine does not take has no
// node there, and the way leads around it.
//
// The engine's times are the device's own. Rates of the CPU and the GPU are assumed, as
// their constants say, and a file may replace them. The vendor's planner has decision
// trees where this one has rates: the method is known, their numbers are not.
package placement
