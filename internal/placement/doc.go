// Package placement decides which processor of a machine runs each operation of a network, as
// Apple's framework does before it runs one.
//
// The engine is one backend, next to the CPU and the GPU. Every operation has a node for each
// backend that can run it. The plan of [ShortestPath] is the cheapest path from the network's inputs
// to its outputs, found with Dijkstra's algorithm:
//
//	          +--> conv@engine --> softmax@engine --+
//	inputs ---+--> conv@gpu    --> softmax@gpu    --+--> outputs
//	          +--> conv@cpu    --> softmax@cpu    --+
//
// A node costs the larger of its compute time and its time to move bytes. An edge between two
// backends costs the launch of a segment and, for every tensor that is still needed, repacking
// between the engine's channel-interleaved layout and the host's. Few long segments are
// therefore cheap. An operation that the engine refuses has no engine node, so the path avoids
// the engine there.
//
// Two other segmenters, [Coarse] and [Graph], choose without the costs of boundaries, and are held
// against it.
//
// The engine's times come from the device model. The rates of CPU and GPU are assumed, as their
// constants say, and a file can replace them. Apple's planner uses decision trees instead
// of rates. Its method is known, but its numbers are not.
package placement
