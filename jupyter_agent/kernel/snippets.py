"""What describes variables inside R and Julia kernels: one tab-separated line a variable (name, type, shape, bytes,
preview). `%s` is an expression for the names. Base packages only; R's active bindings are not forced.
"""

R = r"""
local({
  said <- function(...) { cat(..., sep = "\t"); cat("\n") }
  describe <- function(name) {
    if (!exists(name, envir = globalenv(), inherits = FALSE)) return(said(name, "undefined", "", "", ""))
    if (bindingIsActive(name, globalenv())) return(said(name, "active binding", "", "", ""))
    value <- get(name, envir = globalenv(), inherits = FALSE)
    size <- length(unclass(value))
    shape <- ""
    preview <- ""
    if (is.data.frame(value)) {
      shape <- paste(length(attr(value, "row.names")), "rows x", size, "columns")
      preview <- paste(attr(value, "names"), collapse = ", ")
    } else if (!is.null(attr(value, "dim"))) {
      shape <- paste(attr(value, "dim"), collapse = "x")
    } else if (!is.function(value) && !is.environment(value)) {
      shape <- paste(size, if (size == 1) "item" else "items")
    }
    if (is.atomic(value) && is.null(attr(value, "class"))) preview <- deparse(as.vector(head(value, 6)))[1]
    else if (is.list(value) && preview == "") preview <- paste(names(unclass(value)), collapse = ", ")
    preview <- gsub("[\t\r\n]", " ", substr(preview, 1, 200))
    said(name, class(value)[1], shape, format(as.numeric(object.size(value)), scientific = FALSE), preview)
  }
  for (name in head(%s, 500)) tryCatch(describe(name), error = function(e) said(name, "cannot be read", "", "", ""))
})
"""

JULIA = r"""
let chosen = %s
    for name in first(chosen, 500)
        if !isdefined(Main, name)
            println(name, "\tundefined\t\t\t")
            continue
        end
        value = getfield(Main, name)
        known = value isa AbstractArray && parentmodule(typeof(value)) in (Core, Base)
        shape = known ? join(size(value), "x") : ""
        plain = value isa Union{Int, Float64, Bool, Nothing, Symbol} || typeof(value) === String
        preview = plain ? replace(first(repr(value), 200), r"[\t\r\n]" => " ") : ""
        println(name, "\t", typeof(value), "\t", shape, "\t\t", preview)
    end
end
nothing
"""
