// Package page writes a report as one HTML file that needs nothing beside it: no network, no
// font, no library. Its pictures are SVG that Go draws, its table is sorted, searched and
// shown a window of rows at a time by a short script, and the JSON document that every
// number comes from is in it for download.
//
//	report.Report --Write--> page.html (headline, bottlenecks, causes, roofline, power,
//	                         energy, table, limits, document)
package page
