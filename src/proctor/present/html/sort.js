"use strict";
// Comforts only: columns sort by a press, long tables filter by a word, links open what they lead to, and the keyboard
// stops only at frames that scroll.
(function () {
  function value(row, column) {
    var cell = row.cells[column];
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    return cell.textContent.trim();
  }
  function order(a, b) {
    var numbers = typeof a === "number", others = typeof b === "number";
    if (numbers && others) return a - b;
    if (numbers !== others) return numbers ? -1 : 1;
    return a.localeCompare(b, "en", { numeric: true });
  }
  function sorted(table, column, down) {
    var body = table.tBodies[0];
    Array.from(body.rows).map(function (row, place) {
      return { row: row, key: value(row, column), place: place };
    }).sort(function (a, b) {
      return (down ? -1 : 1) * order(a.key, b.key) || a.place - b.place;
    }).forEach(function (entry) { body.appendChild(entry.row); });
  }
  document.querySelectorAll("table.sortable").forEach(function (table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (header, column) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = header.textContent;
      header.textContent = "";
      header.appendChild(button);
      button.addEventListener("click", function () {
        var down = header.getAttribute("aria-sort") === "ascending";
        Array.from(table.tHead.rows[0].cells).forEach(function (other) { other.removeAttribute("aria-sort"); });
        header.setAttribute("aria-sort", down ? "descending" : "ascending");
        sorted(table, column, down);
      });
    });
  });
  document.querySelectorAll("table.runs").forEach(function (table) {
    var label = document.createElement("label"), field = document.createElement("input");
    field.type = "search";
    label.className = "filter";
    label.append("Show only rows with ", field);
    table.parentNode.parentNode.insertBefore(label, table.parentNode);
    field.addEventListener("input", function () {
      var word = field.value.toLowerCase();
      Array.from(table.tBodies[0].rows).forEach(function (row) {
        row.hidden = word !== "" && row.textContent.toLowerCase().indexOf(word) < 0;
      });
    });
  });
  function frames() {
    document.querySelectorAll(".scroll").forEach(function (frame) {
      frame.tabIndex = frame.scrollWidth > frame.clientWidth ? 0 : -1;
    });
  }
  addEventListener("resize", frames);
  addEventListener("toggle", frames, true);
  frames();
  function reveal() {
    var target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (var parent = target && target.parentElement; parent; parent = parent.parentElement) {
      if (parent.tagName === "DETAILS") parent.open = true;
    }
    if (target) target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();
})();
